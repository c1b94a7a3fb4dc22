"""Asks for a transfer and is called back when another person has decided.

    SERVER=http://127.0.0.1:8080 API_KEY=... python webhook.py PAYEE
"""
import asyncio, contextlib, os, secrets, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_text_message
from a2a.types import GetTaskRequest, Role, SendMessageRequest, TaskPushNotificationConfig, TaskState

OPEN = {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_INPUT_REQUIRED,
        TaskState.TASK_STATE_AUTH_REQUIRED}
TOKEN = secrets.token_urlsafe()


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        genuine = secrets.compare_digest(self.headers.get("X-A2A-Notification-Token", ""), TOKEN)
        self.send_response(204 if genuine else 403)
        self.end_headers()


async def main(payee):
    hook = HTTPServer(("127.0.0.1", 0), Hook)
    hook.timeout = 60  # then it looks without a call
    push = TaskPushNotificationConfig(url=f"http://127.0.0.1:{hook.server_port}/", token=TOKEN)
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    config = ClientConfig(streaming=False, polling=True, push_notification_config=push, httpx_client=http)
    async with await create_client(os.environ["SERVER"], config) as client:
        message = new_text_message(f"/transfer_money amount=5 to={payee}", role=Role.ROLE_USER)
        async for event in client.send_message(SendMessageRequest(message=message)):
            task = event.task
        while task.status.state in OPEN:
            await asyncio.to_thread(hook.handle_request)
            with contextlib.suppress(A2AClientError):  # the server restarts
                task = await client.get_task(GetTaskRequest(id=task.id))
                print(TaskState.Name(task.status.state))
    print(get_message_text(task.status.message), *[get_artifact_text(artifact) for artifact in task.artifacts])


asyncio.run(main(sys.argv[1]))

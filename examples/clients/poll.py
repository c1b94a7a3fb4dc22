"""Asks for a transfer and looks every two seconds whether another person has decided.

    SERVER=http://127.0.0.1:8080 API_KEY=... python poll.py PAYEE
"""
import asyncio, os, sys

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_text_message
from a2a.types import GetTaskRequest, Role, SendMessageRequest, TaskState

OPEN = {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_INPUT_REQUIRED,
        TaskState.TASK_STATE_AUTH_REQUIRED}


async def main(payee):
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    config = ClientConfig(streaming=False, polling=True, httpx_client=http)  # polling has no effect beside streaming
    async with await create_client(os.environ["SERVER"], config) as client:
        message = new_text_message(f"/transfer_money amount=5 to={payee}", role=Role.ROLE_USER)
        async for event in client.send_message(SendMessageRequest(message=message)):
            task = event.task
        print(task.id, "waits")  # any process, on any day, can go on from here
        while task.status.state in OPEN:
            await asyncio.sleep(2)
            try:
                task = await client.get_task(GetTaskRequest(id=task.id))
            except A2AClientError as error:  # the server restarts
                print(error)
    print(TaskState.Name(task.status.state), get_message_text(task.status.message))
    print(*[get_artifact_text(artifact) for artifact in task.artifacts])


asyncio.run(main(sys.argv[1]))

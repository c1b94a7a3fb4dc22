"""Asks for a transfer and waits, while another person decides.

    SERVER=http://127.0.0.1:8080 API_KEY=... python wait.py PAYEE
"""
import asyncio, contextlib, os, sys, uuid

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_data_message
from a2a.types import GetTaskRequest, Role, SendMessageRequest, SubscribeToTaskRequest, TaskState
from a2a.utils.errors import A2AError

OPEN = {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_INPUT_REQUIRED,
        TaskState.TASK_STATE_AUTH_REQUIRED}


async def pay(amount: int, to: str) -> str:
    """Transfers money. A person approves each transfer first, which may take minutes."""
    return await transfer(str(uuid.uuid4()), amount, to)


async def transfer(key: str, amount: int, to: str) -> str:
    """Transfers money once for each key, also when another process waits with the same key."""
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    async with await create_client(os.environ["SERVER"], ClientConfig(httpx_client=http)) as client:
        call = {"tool": "transfer_money", "args": {"amount": amount, "to": to}}
        message = new_data_message(call, role=Role.ROLE_USER)
        message.message_id = key
        events, task = client.send_message(SendMessageRequest(message=message)), None
        while task is None or task.status.state in OPEN:
            try:
                async for event in events:
                    if event.HasField("task"):
                        task = event.task  # with this id another process can go on
                    if words := get_message_text(event.status_update.status.message):
                        print(words.partition("\n")[0])
            except A2AError as error:  # the server restarts, a proxy has cut the stream, or the task has ended
                if task is None:
                    raise
                print(error)
                await asyncio.sleep(1)
            with contextlib.suppress(A2AClientError):
                task = await client.get_task(GetTaskRequest(id=task.id))
            events = client.subscribe(SubscribeToTaskRequest(id=task.id))
    if task.status.state != TaskState.TASK_STATE_COMPLETED:
        return get_message_text(task.status.message)
    return "\n".join(get_artifact_text(artifact) for artifact in task.artifacts)


if __name__ == "__main__":
    print(asyncio.run(pay(5, sys.argv[1])))

"""An agent with a function of its own that people approve: refund, at the server of a2a-server.yaml.

    SERVER=http://127.0.0.1:8080 API_KEY=... python refund.py ORDER AMOUNT
"""
import asyncio, contextlib, functools, os, sys, uuid

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.types import GetTaskRequest, ListTasksRequest, SendMessageRequest
from google.protobuf.json_format import MessageToDict, ParseDict

OPEN = {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"}


def approved(function):
    """Has each call approved, then runs the function with the approved arguments and the approval's id.

    run and call identify the call, also after a crash of the agent: the same call is the same task."""
    @functools.wraps(function)
    async def ask(client, run, call, **args):
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{run}/{call}"))
        found = await client.list_tasks(ListTasksRequest(context_id=key))  # it was asked before a crash
        task = found.tasks[0] if found.tasks else None
        if task is None:
            message = {"messageId": key, "contextId": key, "role": "ROLE_USER",
                       "parts": [{"data": {"tool": function.__name__, "args": args}}]}
            async for event in client.send_message(ParseDict({"message": message}, SendMessageRequest())):
                task = event.task
        done = None
        while done is None or done["status"]["state"] in OPEN:
            await asyncio.sleep(1)
            with contextlib.suppress(A2AClientError):  # the server restarts
                done = MessageToDict(await client.get_task(GetTaskRequest(id=task.id)))
        if done["status"]["state"] != "TASK_STATE_COMPLETED":
            raise PermissionError(f"{function.__name__} was not decided: {done['status']}")
        result = next(part["data"] for part in done["artifacts"][0]["parts"] if "data" in part)
        if result["approved"] is not True:
            raise PermissionError(f"{function.__name__} was refused: {result.get('reason')}")
        return await function(approval=result["approval"], **result["arguments"])
    return ask


@approved
async def refund(approval, order, amount):
    # Here the agent pays. The approval's id is kept with the payment, in one transaction: a call that
    # is repeated after a crash finds it there and pays nothing.
    with open("refunds.txt", "a+") as book:
        book.seek(0)
        if approval not in book.read():
            book.write(f"{approval} {order} {amount}\n")
    return f"refunded {amount} for {order}"


async def main(order, amount):
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    client = await create_client(os.environ["SERVER"], ClientConfig(streaming=False, polling=True, httpx_client=http))
    # An agent has these two ids from its framework: those of the run, and of the model's tool call.
    print(await refund(client, run="run-1", call=f"refund-{order}", order=order, amount=float(amount)))
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

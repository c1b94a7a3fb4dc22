import asyncio, httpx, os, uuid
from a2a.client import ClientConfig, create_client
from a2a.types import SendMessageRequest
from google.protobuf.json_format import MessageToDict, ParseDict

APPROVAL = "urn:a2a-server:extension:tool-approval:v1"

async def main():
    http = httpx.AsyncClient(timeout=60)  # without it, an answer may take 5 seconds
    client = await create_client(os.environ["SERVER"], ClientConfig(streaming=False, httpx_client=http))

    async def send(**message):
        message |= {"messageId": str(uuid.uuid4()), "role": "ROLE_USER"}
        async for event in client.send_message(ParseDict({"message": message}, SendMessageRequest())):
            return MessageToDict(event.task)

    task = await send(parts=[{"text": "/transfer_money amount=5 to=python"}])
    asked = task["status"]["message"]["metadata"][APPROVAL]["approvals"]
    decisions = [{"id": a["id"], "digest": a["digest"], "decision": "approve"} for a in asked]
    task = await send(taskId=task["id"], parts=[{"data": {"type": "approval_response", "decisions": decisions}}])
    print(task["status"]["state"], task["artifacts"])
    await client.close()

asyncio.run(main())

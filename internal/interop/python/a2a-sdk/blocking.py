"""Asks for a transfer and blocks until there is a result: python blocking.py PAYEE"""
import asyncio, os, sys

import httpx
from a2a.client import ClientConfig, create_client
from a2a.helpers import new_text_message
from a2a.types import Role, SendMessageRequest


async def main(payee):
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    async with await create_client(os.environ["SERVER"], ClientConfig(streaming=False, httpx_client=http)) as client:
        message = new_text_message(f"/transfer_money amount=5 to={payee}", role=Role.ROLE_USER)
        async for event in client.send_message(SendMessageRequest(message=message)):
            print(event)


asyncio.run(main(sys.argv[1]))

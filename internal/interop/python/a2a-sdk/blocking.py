"""Asks for a transfer and blocks until there is a result, also while the server restarts: python blocking.py PAYEE"""
import asyncio, os, sys

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.helpers import new_text_message
from a2a.types import Role, SendMessageRequest


async def main(payee):
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    async with await create_client(os.environ["SERVER"], ClientConfig(streaming=False, httpx_client=http)) as client:
        message = new_text_message(f"/transfer_money amount=5 to={payee}", role=Role.ROLE_USER)
        while True:
            try:
                async for event in client.send_message(SendMessageRequest(message=message)):
                    print(event)
                return
            except A2AClientError as error:  # the same message, repeated, waits for the same task
                print(error)
                await asyncio.sleep(1)


asyncio.run(main(sys.argv[1]))

"""Asks for a transfer through ag2: python ask.py stream|poll PAYEE"""
import asyncio, os, sys

from ag2 import Agent
from ag2.a2a import A2AConfig


async def main(way, payee):
    config = A2AConfig(card_url=os.environ["SERVER"], streaming=way == "stream", headers={"X-API-Key": os.environ["API_KEY"]})
    reply = await Agent("bank", config=config).ask(f"/transfer_money amount=5 to={payee}")
    print(reply.body)


asyncio.run(main(*sys.argv[1:]))

"""Asks for a payment whose result is text through agentscope: python ask.py stream|blocking PAYEE"""
import asyncio, os, sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from agentscope.agent import A2AAgent
from agentscope.message import UserMsg


async def main(way, payee):
    http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]})
    card = await A2ACardResolver(http, os.environ["SERVER"]).get_agent_card()
    config = ClientConfig(httpx_client=http, streaming=way == "stream", accepted_output_modes=["text/plain"])
    async with A2AAgent(card, client=ClientFactory(config).create(card)) as bank:
        print(await bank.reply(UserMsg("user", f"/pay amount=5 to={payee}")))


asyncio.run(main(*sys.argv[1:]))

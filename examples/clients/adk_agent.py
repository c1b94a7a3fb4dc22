"""python adk_agent.py root|sub|tool MESSAGE..., all in one session: "/transfer_money amount=5 to=alice".

SERVER and API_KEY are in the environment; GOOGLE_API_KEY too, but for root."""
import asyncio, os, sys

import httpx
from google.adk.agents import LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

http = httpx.AsyncClient(headers={"X-API-Key": os.environ["API_KEY"]}, timeout=60)
bank = RemoteA2aAgent(name="bank", description='Takes commands such as "/transfer_money amount=5 to=alice".',
                      agent_card=os.environ["SERVER"] + "/.well-known/agent-card.json", httpx_client=http)


def root(way):
    if way == "root":
        return bank
    bring = {"sub_agents": [bank]} if way == "sub" else {"tools": [AgentTool(agent=bank)]}
    return LlmAgent(name="clerk", model="gemini-3-flash", instruction="Let the bank pay.", **bring)


async def main(way, *messages):
    runner = InMemoryRunner(agent=root(way), app_name="clerk")
    session = await runner.session_service.create_session(app_name="clerk", user_id="user")
    for text in messages:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            if event.error_message:  # such as: the server restarts
                print(event.error_message)
            for part in event.content.parts if event.content else []:
                if part.text and not part.thought:
                    print(part.text)


asyncio.run(main(*sys.argv[1:]))

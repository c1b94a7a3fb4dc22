"""Talks with a server through the RemoteA2aAgent of Google's ADK, as a program built
with it does:

    python drive.py URL [model]

With "model" the remote agent is below an agent with a model, which hands everything to
it; the model is a stub. Each line of the input is a turn of the person, {"say": [a text
for each part]} or {"answer": [true or false for each question]}, and is answered by a
line that lists what ADK shows.
"""

import asyncio
import json
import logging
import sys
import warnings

warnings.simplefilter("ignore")  # its A2A support is experimental, and says so often

from google.adk.agents import LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

logging.disable(logging.WARNING)


class Handing(BaseLlm):
    """A model that hands every conversation to the remote agent."""

    model: str = "handing"

    async def generate_content_async(self, llm_request, stream=False):
        call = types.Part.from_function_call(name="transfer_to_agent", args={"agent_name": "bank"})
        yield LlmResponse(content=types.Content(role="model", parts=[call]))


def agent(url, with_model):
    bank = RemoteA2aAgent(name="bank", description="Moves money.", agent_card=url + "/.well-known/agent-card.json")
    if not with_model:
        return bank
    return LlmAgent(name="root", model=Handing(), sub_agents=[bank])


def shown(event):
    """What a program that reads ADK's events gets to see."""
    if event.error_message:
        yield {"author": event.author, "error": event.error_message}
    for part in event.content.parts if event.content else []:
        seen = part.model_dump(mode="json", exclude_none=True)
        seen["author"] = event.author
        if part.function_call and part.function_call.id in (event.long_running_tool_ids or ()):
            seen["asks"] = True
        if event.partial:
            seen["partial"] = True
        yield seen


async def main():
    url, with_model = sys.argv[1], "model" in sys.argv[2:]
    runner = InMemoryRunner(agent=agent(url, with_model), app_name="interop")
    session = await runner.session_service.create_session(app_name="interop", user_id="person")
    asked = []
    for line in sys.stdin:
        turn = json.loads(line)
        if "say" in turn:
            parts = [types.Part(text=text) for text in turn["say"]]
        else:
            parts = [
                types.Part.from_function_response(name=call.name, response={"confirmed": confirmed})
                for call, confirmed in zip(asked, turn["answer"], strict=True)
            ]
            for part, call in zip(parts, asked):
                part.function_response.id = call.id
        asked, seen = [], []
        async for event in runner.run_async(
            user_id="person", session_id=session.id, new_message=types.Content(role="user", parts=parts)
        ):
            seen += shown(event)
            asked += [c for c in event.get_function_calls() if c.id in (event.long_running_tool_ids or ())]
        print(json.dumps(seen, ensure_ascii=False), flush=True)


asyncio.run(main())

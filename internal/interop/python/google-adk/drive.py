"""Talks with a server through the RemoteA2aAgent of Google's ADK, as a program built
with it does:

    python drive.py URL

Each line of the input is a turn of the person, and is answered by a line that lists
what ADK shows:

    {"start": "remote"}   a new conversation, with the remote agent itself
    {"start": "model"}    or with an agent that has a model, a stub, and hands over
    {"say": ["text"]}     a message, with a text for each part
    {"answer": [true]}    yes or no to each question that was asked
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

OPEN, CLOSE = "<a2a_datapart_json>", "</a2a_datapart_json>"


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
        seen = part.model_dump(mode="json", exclude_none=True) | {"author": event.author}
        if part.inline_data:  # data that is not ADK's own comes as a text in a file
            text = part.inline_data.data.decode().removeprefix(OPEN).removesuffix(CLOSE)
            seen["inline_data"] = json.loads(text)
        if part.function_call and part.function_call.id in (event.long_running_tool_ids or ()):
            seen["asks"] = True
        if event.partial:
            seen["partial"] = True
        yield seen


class Conversation:
    async def start(self, url, how):
        self.runner = InMemoryRunner(agent=agent(url, how == "model"), app_name="interop")
        self.session = await self.runner.session_service.create_session(app_name="interop", user_id="person")
        self.asked = []

    async def turn(self, parts):
        self.asked, seen = [], []
        message = types.Content(role="user", parts=parts)
        async for event in self.runner.run_async(user_id="person", session_id=self.session.id, new_message=message):
            seen += shown(event)
            self.asked += [c for c in event.get_function_calls() if c.id in (event.long_running_tool_ids or ())]
        return seen

    def answers(self, confirmed):
        for call, yes in zip(self.asked, confirmed, strict=True):
            answer = types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": yes})
            yield types.Part(function_response=answer)


async def main():
    talk = Conversation()
    for line in sys.stdin:
        turn, seen = json.loads(line), []
        if "start" in turn:
            await talk.start(sys.argv[1], turn["start"])
        elif "say" in turn:
            seen = await talk.turn([types.Part(text=text) for text in turn["say"]])
        else:
            seen = await talk.turn(list(talk.answers(turn["answer"])))
        print(json.dumps(seen, ensure_ascii=False), flush=True)


asyncio.run(main())

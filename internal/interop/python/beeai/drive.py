"""Talks with a server through the A2AAgent of BeeAI, which speaks A2A 0.3, as a program
built with it does:

    python drive.py URL [KEY]

KEY is an API key. Each line of the input is a turn of the person, and is answered by a
line that lists what the framework shows:

    {"start": "stream"}   a new conversation, that follows the events of each answer
    {"start": "whole"}    or waits for each answer
    {"say": ["text"]}     a message, with a text for each part
    {"answer": [true]}    yes or no to each question that was asked
"""

import asyncio
import json
import logging
import sys
from uuid import uuid4

import a2a.types as a2a
from beeai_framework.adapters.a2a.agents import A2AAgent
from beeai_framework.adapters.a2a.agents.agent import A2AAgentParameters, HttpxAsyncClientParameters
from beeai_framework.agents import AgentError
from beeai_framework.memory import UnconstrainedMemory

APPROVAL = "urn:a2a-server:extension:tool-approval:v1"

url, *key = sys.argv[1:]
headers = {"X-API-Key": key[0]} if key else {}
logging.disable(logging.CRITICAL)


def message(*parts):
    return a2a.Message(role=a2a.Role.user, message_id=uuid4().hex, parts=[a2a.Part(root=part) for part in parts])


class Conversation:
    def __init__(self, streams):
        parameters = A2AAgentParameters(httpx_async_client=HttpxAsyncClientParameters(headers=headers))
        self.agent = A2AAgent(url=url, memory=UnconstrainedMemory(), parameters=parameters)
        self.streams, self.asked = streams, []

    async def turn(self, message):
        updates, self.asked = [], []

        def update(data, event):
            value = data.value[1] if isinstance(data.value, tuple) else data.value
            updates.append({"update": value.kind if value else "task"})

        try:
            output = await self.agent.run(message, streaming=self.streams).on("update", update)
        except AgentError as error:
            return updates + [{"error": error.message}]
        seen = updates + [{"text": content.text} for content in output.output[0].content]
        if isinstance(output.event, tuple):
            status = output.event[0].status
            seen.append({"state": status.state.value})
            if status.message and status.message.metadata:
                self.asked = status.message.metadata.get(APPROVAL, {}).get("approvals", [])
        return seen

    def answer(self, confirmed):
        decisions = [
            {"id": approval["id"], "decision": "approve" if yes else "reject", "digest": approval["digest"]}
            for approval, yes in zip(self.asked, confirmed, strict=True)
        ]
        return message(a2a.DataPart(data={"type": "approval_response", "decisions": decisions}))


async def main():
    for line in sys.stdin:
        turn, seen = json.loads(line), []
        if "start" in turn:
            talk = Conversation(turn["start"] == "stream")
            await talk.agent.check_agent_exists()
            card = talk.agent.agent_card
            seen = [{"card": card.name, "protocol_version": card.protocol_version, "preferred_transport": card.preferred_transport}]
        elif "say" in turn:
            said = turn["say"]
            seen = await talk.turn(said[0] if len(said) == 1 else message(*(a2a.TextPart(text=text) for text in said)))
        else:
            seen = await talk.turn(talk.answer(turn["answer"]))
        print(json.dumps(seen, ensure_ascii=False), flush=True)


asyncio.run(main())

"""Talks with a server through the A2AAgent of Microsoft's Agent Framework, as a program
built with it does:

    python drive.py URL

Each line of the input is a turn of the person, and is answered by a line that lists
what the framework shows:

    {"start": "url"}      a new conversation with the agent at the URL
    {"start": "card"}     or with that of its agent card; answers are streams then
    {"say": ["text"]}     a message, with a text for each part
    {"answer": [true]}    yes or no to each question that was asked
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
from agent_framework import Content, Message
from agent_framework_a2a import A2AAgent

APPROVAL = "urn:a2a-server:extension:tool-approval:v1"


def shown(content):
    """What a program that reads the framework's answers gets to see. A data part becomes
    text, its JSON with the names in any order, and texts that follow each other become
    one: so what is JSON of it is listed by value."""
    if content.user_input_request:
        yield {"asks": [part["text"] for part in question(content)["parts"] if "text" in part]}
        return
    text = content.text
    while text.startswith("{"):
        value, end = json.JSONDecoder().raw_decode(text)
        yield {"json": value}
        text = text[end:]
    if text:
        yield {"text": text}


def question(content):
    return content.additional_properties["a2a_input_required_message"]


class Conversation:
    def __init__(self, agent, streams):
        self.agent, self.streams = agent, streams
        self.session, self.asked = agent.create_session(), []

    async def turn(self, message):
        answer = self.agent.run(message, session=self.session, stream=self.streams)
        answer = await (answer.get_final_response() if self.streams else answer)
        self.asked = [a for q in answer.user_input_requests for a in question(q)["metadata"][APPROVAL]["approvals"]]
        return [seen for message in answer.messages for content in message.contents for seen in shown(content)]

    def answer(self, confirmed):
        decisions = [
            {"id": approval["id"], "decision": "approve" if yes else "reject", "digest": approval["digest"]}
            for approval, yes in zip(self.asked, confirmed, strict=True)
        ]
        metadata = {APPROVAL: {"type": "approval_response", "decisions": decisions}}
        return Message("user", ["My decision is in the metadata."], additional_properties={"a2a": metadata})


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, sys.argv[1]).get_agent_card()
        agents = {
            "url": A2AAgent(name="bank", url=sys.argv[1], http_client=http),
            "card": A2AAgent(name="bank", agent_card=card, http_client=http),
        }
        for line in sys.stdin:
            turn, seen = json.loads(line), []
            if "start" in turn:
                talk = Conversation(agents[turn["start"]], turn["start"] == "card")
            elif "say" in turn:
                seen = await talk.turn(Message("user", [Content.from_text(text) for text in turn["say"]]))
            else:
                seen = await talk.turn(talk.answer(turn["answer"]))
            print(json.dumps(seen, ensure_ascii=False), flush=True)


asyncio.run(main())

"""Talks with a server through the A2AAgent of Strands, which speaks A2A 0.3, as a program
built with it does:

    python drive.py URL [KEY]

KEY is an API key. Each line of the input is a turn of the person, and is answered by a
line that lists what the framework shows:

    {"start": "whole"}    a new conversation, that waits for each answer
    {"start": "stream"}   or follows the events of each
    {"start": "tool"}     or has an agent with a model, a stub, call the server as a tool
    {"say": ["text"]}     a message, with a text for each part
"""

import asyncio
import json
import sys

import httpx
from a2a.client import ClientConfig
from strands import Agent
from strands.agent.a2a_agent import A2AAgent
from strands.models import Model
from strands.vended_tools.a2a_client import make_a2a_client

url, *key = sys.argv[1:]


class Calling(Model):
    """A model that calls the server with what the person says, and then says what came."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **kwargs):
        raise NotImplementedError
        yield

    async def stream(self, messages, *args, **kwargs):
        last = messages[-1]["content"][0]
        yield {"messageStart": {"role": "assistant"}}
        if "text" in last:
            request = {"operation": "send_message", "endpoint": url, "message": last["text"]}
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "a2a_client", "toolUseId": "1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(request)}}}}
        else:
            said = last["toolResult"]["content"][0]["text"]
            yield {"contentBlockDelta": {"delta": {"text": said}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if "text" in last else "end_turn"}}


def shown(result):
    """What a program that reads the framework's answer gets to see."""
    seen = [{"text": block["text"]} for block in result.message["content"]]
    return seen + [{"stop_reason": result.stop_reason} | result.state]


async def whole(agent, parts):
    return shown(await agent.invoke_async([{"text": text} for text in parts]))


async def stream(agent, parts):
    seen = []
    async for event in agent.stream_async([{"text": text} for text in parts]):
        if "result" in event:
            seen += shown(event["result"])
        else:
            update = event["event"][1] if isinstance(event["event"], tuple) else event["event"]
            seen.append({"event": update.kind if update else "task"})
    return seen


async def tool(agent, parts):
    result = await agent.invoke_async("\n".join(parts))
    return [{"text": block["text"]} for block in result.message["content"]]


async def main():
    async with httpx.AsyncClient(timeout=60, headers={"X-API-Key": key[0]} if key else {}) as http:
        config = ClientConfig(httpx_client=http)
        for line in sys.stdin:
            turn, seen = json.loads(line), []
            if "start" in turn:
                talk = globals()[turn["start"]]
                if talk is tool:
                    client = make_a2a_client(allowed_endpoints=[(url, config)])
                    agent = Agent(model=Calling(), tools=[client], callback_handler=None)
                else:
                    agent = A2AAgent(url, client_config=config)
                    card = await agent.get_agent_card()
                    seen = [{"card": card.name, "protocol_version": card.protocol_version, "preferred_transport": card.preferred_transport}]
            else:
                seen = await talk(agent, turn["say"])
            print(json.dumps(seen, ensure_ascii=False), flush=True)


asyncio.run(main())

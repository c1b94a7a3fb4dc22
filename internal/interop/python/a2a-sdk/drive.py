"""Does operations with the official Python client, found through the agent card:

    python drive.py URL BINDING VERSION KEY

BINDING is JSONRPC or HTTP+JSON, VERSION that of A2A, KEY an API key or "". Each line of the input is a request, {"id": n,
"operation": name, "request": the JSON of the operation's request}, or breaks one off:
{"id": n, "break": true}. Operations run at the same time. Each line of the output
belongs to one of them: {"id": n, "value": ...} for what the client returns, one for
each event of a stream; {"id": n, "refused": {...}} for an error of the server; and at
last {"id": n, "end": true}, with "crash" where the client itself has failed.
"""

import asyncio
import json
import sys
import traceback

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import A2A_ERROR_REASONS, A2AError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict

url, binding, version, key = sys.argv[1:]


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def one(call):
    yield await call


class Driver:
    async def connect(self):
        # Streams are silent while a person thinks, so they have no limit.
        self.http = httpx.AsyncClient(
            timeout=httpx.Timeout(60, read=None),
            limits=httpx.Limits(max_connections=None),
            headers={"X-API-Key": key} if key else {},
        )
        # The other one says that it speaks 1.0, and is told of nothing else.
        self.plain = httpx.AsyncClient()
        self.card = await A2ACardResolver(self.plain, url).get_agent_card()

        # Of what the card offers, that of the version only.
        offered = AgentCard()
        offered.CopyFrom(self.card)
        del offered.supported_interfaces[:]
        offered.supported_interfaces.extend(i for i in self.card.supported_interfaces if i.protocol_version.startswith(version))

        def client(streaming):
            # One binding only, so that the client cannot fall back on another.
            config = ClientConfig(httpx_client=self.http, streaming=streaming, supported_protocol_bindings=[binding])
            return ClientFactory(config).create(offered)

        self.whole, self.streaming = client(False), client(True)

    def operation(self, name, request):
        match name:
            case "card":
                return one(A2ACardResolver(self.plain, url).get_agent_card())
            case "extended":
                return one(self.whole.get_extended_agent_card(GetExtendedAgentCardRequest()))
            case "send":
                return self.whole.send_message(ParseDict(request, SendMessageRequest()))
            case "stream":
                return self.streaming.send_message(ParseDict(request, SendMessageRequest()))
            case "get":
                return one(self.whole.get_task(ParseDict(request, GetTaskRequest())))
            case "list":
                return one(self.whole.list_tasks(ParseDict(request, ListTasksRequest())))
            case "cancel":
                return one(self.whole.cancel_task(ParseDict(request, CancelTaskRequest())))
            case "subscribe":
                return self.streaming.subscribe(ParseDict(request, SubscribeToTaskRequest()))

    async def run(self, id, name, request):
        end = {"id": id, "end": True}
        try:
            async for value in self.operation(name, request):
                say(id=id, value=MessageToDict(value))
        except A2AError as error:
            if (version, binding) == ("0.3", "HTTP+JSON") and not error.message.startswith("HTTP Error 5"):
                # All that this client knows of a refusal is the status.
                say(id=id, refused={"reason": "untold", "message": error.message, "data": {}})
            elif type(error) not in A2A_ERROR_REASONS:
                end["crash"] = traceback.format_exc()
            else:
                say(id=id, refused={"reason": A2A_ERROR_REASONS[type(error)], "message": error.message, "data": error.data})
        except asyncio.CancelledError:
            pass  # broken off
        except Exception:
            end["crash"] = traceback.format_exc()
        say(**end)


async def main():
    driver = Driver()
    await driver.connect()
    lines = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    running = {}
    while line := await lines.readline():
        asked = json.loads(line)
        if asked.get("break"):
            running[asked["id"]].cancel()
        else:
            running[asked["id"]] = asyncio.create_task(driver.run(asked["id"], asked["operation"], asked["request"]))
    await asyncio.gather(*running.values())


asyncio.run(main())

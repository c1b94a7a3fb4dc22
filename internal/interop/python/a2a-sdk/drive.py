"""Does operations with the official Python client, found through the agent card:

    python drive.py URL BINDING VERSION KEY

BINDING is JSONRPC, HTTP+JSON or GRPC, VERSION that of A2A, KEY an API key or "". What it
reads and writes is described in driven_test.go.
"""

import asyncio
import json
import sys
import traceback

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2A_ERROR_REASONS, A2AError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct

url, binding, version, key = sys.argv[1:]


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def one(call):
    yield await call


def detail(error):
    """The server's own name of a refusal: the client hands on the metadata of the protocol's reason, which repeat it."""
    return error.data.get("reason", "") if isinstance(error.data, dict) else ""


class Driver:
    async def connect(self, url):
        self.url = url
        # Streams are silent while a person thinks, so they have no limit.
        self.http = httpx.AsyncClient(
            timeout=httpx.Timeout(60, read=None),
            limits=httpx.Limits(max_connections=None),
        )
        # The header of HTTP, the metadata of gRPC.
        self.context = ClientCallContext(service_parameters={"X-API-Key": key} if key else {})
        # The other one says that it speaks 1.0, and is told of nothing else.
        self.plain = httpx.AsyncClient(timeout=60)
        self.card = await A2ACardResolver(self.plain, url).get_agent_card()

        # Of what the card offers, that of the version only.
        offered = AgentCard()
        offered.CopyFrom(self.card)
        del offered.supported_interfaces[:]
        offered.supported_interfaces.extend(i for i in self.card.supported_interfaces if i.protocol_version.startswith(version))

        def client(streaming):
            # One binding only, so that the client cannot fall back on another.
            config = ClientConfig(httpx_client=self.http, streaming=streaming, supported_protocol_bindings=[binding], grpc_channel_factory=grpc.aio.insecure_channel)
            return ClientFactory(config).create(offered)

        self.whole, self.streaming = client(False), client(True)

    async def move(self, url):
        await self.connect(url)
        return Struct()

    async def delete_webhook(self, request):
        await self.whole.delete_task_push_notification_config(request, context=self.context)
        return Struct()

    def operation(self, name, request):
        match name:
            case "move":
                return one(self.move(request["url"]))
            case "card":
                return one(A2ACardResolver(self.plain, self.url).get_agent_card())
            case "extended":
                return one(self.whole.get_extended_agent_card(GetExtendedAgentCardRequest(), context=self.context))
            case "send":
                return self.whole.send_message(ParseDict(request, SendMessageRequest()), context=self.context)
            case "stream":
                return self.streaming.send_message(ParseDict(request, SendMessageRequest()), context=self.context)
            case "get":
                return one(self.whole.get_task(ParseDict(request, GetTaskRequest()), context=self.context))
            case "list":
                return one(self.whole.list_tasks(ParseDict(request, ListTasksRequest()), context=self.context))
            case "cancel":
                return one(self.whole.cancel_task(ParseDict(request, CancelTaskRequest()), context=self.context))
            case "set webhook":
                return one(self.whole.create_task_push_notification_config(ParseDict(request, TaskPushNotificationConfig()), context=self.context))
            case "get webhook":
                return one(self.whole.get_task_push_notification_config(ParseDict(request, GetTaskPushNotificationConfigRequest()), context=self.context))
            case "list webhooks":
                return one(self.whole.list_task_push_notification_configs(ParseDict(request, ListTaskPushNotificationConfigsRequest()), context=self.context))
            case "delete webhook":
                return one(self.delete_webhook(ParseDict(request, DeleteTaskPushNotificationConfigRequest())))
            case "subscribe":
                return self.streaming.subscribe(ParseDict(request, SubscribeToTaskRequest()), context=self.context)

    async def run(self, id, name, request):
        end = {"id": id, "end": True}
        try:
            async for value in self.operation(name, request):
                say(id=id, value=MessageToDict(value))
        except A2AError as error:
            if (version, binding) == ("0.3", "HTTP+JSON") and not error.message.startswith("HTTP Error 5") or error.message.startswith(
                ("gRPC Error INVALID_ARGUMENT", "gRPC Error NOT_FOUND", "gRPC Error FAILED_PRECONDITION")
            ):
                # All that this client knows of a refusal of 0.3 is the status.
                say(id=id, refused={"reason": "untold", "detail": "", "message": error.message})
            elif type(error) not in A2A_ERROR_REASONS:
                end["crash"] = traceback.format_exc()
            else:
                say(id=id, refused={"reason": A2A_ERROR_REASONS[type(error)], "detail": detail(error), "message": error.message})
        except asyncio.CancelledError:
            pass  # broken off
        except Exception:
            end["crash"] = traceback.format_exc()
        say(**end)


async def main():
    driver = Driver()
    await driver.connect(url)
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

"""Verifies agent cards with the official Python client, as it gets them from a server:

    python verify.py

The input is a JSON object: keys, a JWK Set; url, where the signatures have to say that it
is; cards, the texts of agent cards by their names; and, if there is a server of gRPC, grpc
with its address, an API key and the authority of its certificate. The output has the error
of each card, "" for one whose signature is valid, and that of the extended card over gRPC,
"gRPC", which the SDK's own client gets and verifies.
"""

import asyncio
import json
import sys

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, GetExtendedAgentCardRequest
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier
from jwt import PyJWK
from jwt.exceptions import PyJWTError

asked = json.load(sys.stdin)


def key(kid, jku):
    if jku != asked["url"]:
        raise PyJWTError(f"the keys are at {jku}")
    for one in asked["keys"]["keys"]:
        if one["kid"] == kid:
            return PyJWK(one)
    raise PyJWTError(f"no key {kid}")


async def verify(text):
    served = httpx.MockTransport(lambda request: httpx.Response(200, text=text))
    async with httpx.AsyncClient(transport=served) as client:
        try:
            await A2ACardResolver(client, "https://agent.example").get_agent_card(
                signature_verifier=create_signature_verifier(key, ["ES256"])
            )
        except SignatureVerificationError as e:
            return f"{type(e).__name__}: {e}"
    return ""


async def over_grpc(address, key_text, ca):
    trusted = grpc.ssl_channel_credentials(ca.encode())
    config = ClientConfig(supported_protocol_bindings=["GRPC"], grpc_channel_factory=lambda url: grpc.aio.secure_channel(url, trusted))
    offered = AgentCard(
        capabilities=AgentCapabilities(extended_agent_card=True),
        supported_interfaces=[AgentInterface(url=address, protocol_binding="GRPC", protocol_version="1.0")],
    )
    client = ClientFactory(config).create(offered)
    try:
        card = await client.get_extended_agent_card(
            GetExtendedAgentCardRequest(),
            context=ClientCallContext(service_parameters={"X-API-Key": key_text}),
            signature_verifier=create_signature_verifier(key, ["ES256"]),
        )
        if not card.skills:
            raise ValueError("this is not the extended card")
    except SignatureVerificationError as e:
        return f"{type(e).__name__}: {e}"
    finally:
        await client.close()
    return ""


errors = {name: asyncio.run(verify(text)) for name, text in asked["cards"].items()}
if at := asked.get("grpc"):
    errors["gRPC"] = asyncio.run(over_grpc(at["address"], at["key"], at["ca"]))
json.dump(errors, sys.stdout)

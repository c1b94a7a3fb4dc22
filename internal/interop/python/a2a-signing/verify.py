"""Verifies agent cards with the official Python client, as it gets them from a server:

    python verify.py

The input is a JSON object: keys, a JWK Set; url, where the signatures have to say that it
is; cards, the texts of agent cards by their names. The output has the error of each card,
"" for one whose signature is valid.
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
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


json.dump({name: asyncio.run(verify(text)) for name, text in asked["cards"].items()}, sys.stdout)

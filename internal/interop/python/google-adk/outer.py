"""An agent of Google's ADK, served by its to_a2a, that delegates to two servers:

    python outer.py one LEFT_URL RIGHT_URL     to the one that is named in a message
    python outer.py both LEFT_URL RIGHT_URL    to the left one, and then to the right one

It writes its own URL when it has begun to listen, and serves until it is told to end.
Its model is a stub.
"""

import logging
import socket
import sys
import warnings

warnings.simplefilter("ignore")  # its A2A support is experimental, and says so often

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

logging.disable(logging.WARNING)


class Handing(BaseLlm):
    """A model that hands every conversation to whom it names."""

    model: str = "handing"

    async def generate_content_async(self, llm_request, stream=False):
        said = llm_request.contents[-1].parts[-1].text
        name = "left" if "left" in said else "right"
        call = types.Part.from_function_call(name="transfer_to_agent", args={"agent_name": name})
        yield LlmResponse(content=types.Content(role="model", parts=[call]))


def bank(name, url):
    return RemoteA2aAgent(name=name, description="Moves money.", agent_card=url + "/.well-known/agent-card.json")


how, left, right = sys.argv[1:]
banks = [bank("left", left), bank("right", right)]
if how == "both":
    root = SequentialAgent(name="root", sub_agents=banks)
    # One that cannot be resumed does not come to the second bank after a question of the first.
    runner = InMemoryRunner(app=App(name="root", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True)))
else:
    root, runner = LlmAgent(name="root", model=Handing(), sub_agents=banks), None
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
app = to_a2a(root, host="127.0.0.1", port=port, runner=runner)
print(f"http://127.0.0.1:{port}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])

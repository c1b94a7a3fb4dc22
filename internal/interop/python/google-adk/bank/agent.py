"""What `adk run` runs: the server at $BANK_URL."""

import os

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent

root_agent = RemoteA2aAgent(name="bank", agent_card=os.environ["BANK_URL"] + "/.well-known/agent-card.json")

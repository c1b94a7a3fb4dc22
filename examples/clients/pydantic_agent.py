"""python pydantic_agent.py "pay 5 to alice", with SERVER, API_KEY and OPENAI_API_KEY."""
import asyncio, sys

from pydantic_ai import Agent

from wait import pay

agent = Agent("openai:gpt-5-mini", instructions="Pay what the user asks for.", tools=[pay])
print(asyncio.run(agent.run(sys.argv[1])).output)

"""python openai_agent.py "pay 5 to alice", with SERVER, API_KEY and OPENAI_API_KEY."""
import asyncio, sys

from agents import Agent, Runner, function_tool

from wait import pay

agent = Agent(name="clerk", instructions="Pay what the user asks for.", model="gpt-5-mini", tools=[function_tool(pay)])
print(asyncio.run(Runner.run(agent, sys.argv[1])).final_output)

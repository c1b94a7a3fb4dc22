"""python crewai_agent.py "pay 5 to alice", with SERVER, API_KEY and OPENAI_API_KEY."""
import sys

from crewai import Agent
from crewai.tools import tool

from wait import pay

clerk = Agent(role="clerk", goal="Pay what the user asks for.", backstory="Works at a bank.", llm="openai/gpt-5-mini",
              tools=[tool("pay")(pay)])
print(clerk.kickoff(sys.argv[1]).raw)

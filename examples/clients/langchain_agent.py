"""python langchain_agent.py "pay 5 to alice", with SERVER, API_KEY and OPENAI_API_KEY."""
import asyncio, sys

from langchain.agents import create_agent

from wait import pay

agent = create_agent("openai:gpt-5-mini", tools=[pay])
done = asyncio.run(agent.ainvoke({"messages": [("user", sys.argv[1])]}))
print(done["messages"][-1].content)

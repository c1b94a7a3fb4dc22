"""python langgraph_agent.py "pay 5 to alice", with SERVER, API_KEY and OPENAI_API_KEY."""
import asyncio, sys

from langchain.chat_models import init_chat_model
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from wait import pay

model = init_chat_model("openai:gpt-5-mini").bind_tools([pay])


async def clerk(state):
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("clerk", clerk)
graph.add_node("tools", ToolNode([pay]))
graph.add_edge(START, "clerk")
graph.add_conditional_edges("clerk", tools_condition)
graph.add_edge("tools", "clerk")
done = asyncio.run(graph.compile().ainvoke({"messages": [("user", sys.argv[1])]}))
print(done["messages"][-1].content)

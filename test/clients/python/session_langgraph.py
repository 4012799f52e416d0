"""A session of LangGraph, kept by its checkpointer; the API is chat or messages."""

import asyncio

from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import ToolNode, tools_condition
from session import API, BASE_URL, KEY, MODEL, ROOT, base64_of, edit_file, play, read_file, run_command


@tool
def view_image(path: str) -> list:
    """Shows a picture."""
    url = f"data:image/png;base64,{base64_of(path)}"
    return [{"type": "image_url", "image_url": {"url": url}}]


def model():
    if API == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=MODEL, api_key=KEY, base_url=ROOT, max_tokens=4096)
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, api_key=KEY, base_url=BASE_URL)


TOOLS = [*map(tool, (read_file, edit_file, run_command)), view_image]
BOUND = model().bind_tools(TOOLS)
CONFIG = {"configurable": {"thread_id": "1"}, "recursion_limit": 40}


async def call_model(state):
    return {"messages": [await BOUND.ainvoke(state["messages"])]}


GRAPH = StateGraph(MessagesState)
GRAPH.add_node("model", call_model)
GRAPH.add_node("tools", ToolNode(TOOLS))
GRAPH.add_edge(START, "model")
GRAPH.add_conditional_edges("model", tools_condition)
GRAPH.add_edge("tools", "model")
APP = GRAPH.compile(checkpointer=InMemorySaver())


async def turn(prompt, heard=None, _picture=None):
    text = last = ""
    asked = {"messages": [HumanMessage(prompt)]}
    async for message, _ in APP.astream(asked, CONFIG, stream_mode="messages"):
        if isinstance(message, ToolMessage):
            last = ""
            continue
        text += message.text
        last += message.text
        if heard and heard(text):
            break
    return last


async def begin(summary):
    messages = [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage(summary)]
    await APP.aupdate_state(CONFIG, {"messages": messages})


LOOP = asyncio.new_event_loop()
play(
    lambda *asked: LOOP.run_until_complete(turn(*asked)),
    lambda summary: LOOP.run_until_complete(begin(summary)),
)

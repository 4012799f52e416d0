"""LangChain; the API is chat or messages."""

import sys

from cases import BASE_URL, ROOT, SCHEMA, Client, run
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool


@tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


def model_of(key, model):
    if sys.argv[2] == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=model, base_url=ROOT, api_key=key, max_tokens=99)
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=model, base_url=BASE_URL, api_key=key, stream_usage=True)


class LangChain(Client):
    def ask(self, key, model):
        return model_of(key, model).invoke("hi").text

    def stream(self, key, model):
        total = 0
        for chunk in model_of(key, model).stream("hi"):
            if chunk.usage_metadata:
                total += chunk.usage_metadata["total_tokens"]
            if chunk.text:
                yield chunk.text
        yield {"usage": total}

    def tools(self, key, model):
        with_tools = model_of(key, model).bind_tools([get_weather])
        asked = [HumanMessage("Weather?")]
        first = with_tools.invoke(asked)
        asked.append(first)
        for call in first.tool_calls:
            asked.append(ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]))
        return with_tools.invoke(asked).text

    def shape(self, key, model):
        schema = {"title": "place", "description": "A place.", **SCHEMA}
        structured = model_of(key, model).with_structured_output(schema)
        return structured.invoke("hi")


run(LangChain())

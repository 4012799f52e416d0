"""LiteLLM as a library; the API is chat, responses or messages."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402
from cases import BASE_URL, ROOT, SCHEMA, Client, run  # noqa: E402

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
PROVIDER, BASE = ("anthropic", ROOT) if sys.argv[2] == "messages" else ("openai", BASE_URL)


def complete(key, model, messages=None, **options):
    messages = messages or [{"role": "user", "content": "hi"}]
    named = {"model": f"{PROVIDER}/{model}", "api_base": BASE, "api_key": key, "max_tokens": 99}
    return litellm.completion(messages=messages, **named, **options)


class LiteLlm(Client):
    def ask(self, key, model):
        return complete(key, model).choices[0].message.content

    def stream(self, key, model):
        chunks = complete(key, model, stream=True, stream_options={"include_usage": True})
        try:
            for chunk in chunks:
                if getattr(chunk, "usage", None):
                    yield {"usage": chunk.usage.total_tokens}
                for choice in chunk.choices:
                    if choice.delta.content:
                        yield choice.delta.content
        finally:
            if hasattr(chunks.completion_stream, "close"):
                chunks.completion_stream.close()

    def tools(self, key, model):
        asked = [{"role": "user", "content": "Weather?"}]
        first = complete(key, model, asked, tools=[TOOL]).choices[0].message
        asked.append(first.model_dump())
        for call in first.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            result = {"role": "tool", "tool_call_id": call.id, "content": f"sunny in {city}"}
            asked.append(result)
        return complete(key, model, asked, tools=[TOOL]).choices[0].message.content

    def shape(self, key, model):
        answer = complete(key, model, response_format=FORMAT)
        return json.loads(answer.choices[0].message.content)


run(LiteLlm())

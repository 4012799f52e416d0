"""Pydantic AI; the API is chat, responses or messages."""

import asyncio
import sys
import time

from cases import BASE_URL, ROOT, Client, run
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput


class Place(BaseModel):
    city: str


def model_of(key, model):
    if sys.argv[2] == "messages":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(model, provider=AnthropicProvider(api_key=key, base_url=ROOT))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if sys.argv[2] == "responses" else OpenAIChatModel
    return kind(model, provider=OpenAIProvider(api_key=key, base_url=BASE_URL))


class PydanticAi(Client):
    def ask(self, key, model):
        return Agent(model_of(key, model)).run_sync("hi").output

    def stream(self, key, model):
        async def collect():
            async with Agent(model_of(key, model)).run_stream("hi") as answer:
                pieces = [piece async for piece in answer.stream_text(delta=True)]
                usage = answer.usage
                usage = usage() if callable(usage) else usage
                return pieces, usage.input_tokens + usage.output_tokens

        pieces, total = asyncio.run(collect())
        yield from pieces
        yield {"usage": total}

    def leave(self, key, model):
        async def leaving():
            async with Agent(model_of(key, model)).run_stream("hi") as answer:
                async for _ in answer.stream_text(delta=True):
                    raise InterruptedError

        try:
            asyncio.run(leaving())
        except InterruptedError:
            pass
        return {"at": time.time() * 1000}

    def tools(self, key, model):
        agent = Agent(model_of(key, model))

        @agent.tool_plain
        def get_weather(city: str) -> str:
            return f"sunny in {city}"

        return agent.run_sync("Weather?").output

    def shape(self, key, model):
        kind = Place if sys.argv[2] == "messages" else NativeOutput(Place)
        return Agent(model_of(key, model), output_type=kind).run_sync("hi").output.model_dump()


run(PydanticAi())

"""OpenAI's Agents SDK, by the API that it chooses itself."""

import asyncio
import os
import time

from cases import BASE_URL, Client, run
from pydantic import BaseModel

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool  # noqa: E402


# Connections persist between runs, and belong to the event loop that opened them.
LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(LOOP)


class Place(BaseModel):
    city: str


@function_tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


def config(key):
    provider = OpenAIProvider(api_key=key, base_url=BASE_URL)
    return RunConfig(model_provider=provider, tracing_disabled=True)


def asked(key, model, **options):
    agent = Agent(name="a", instructions="Be brief.", model=model, **options)
    answer = LOOP.run_until_complete(Runner.run(agent, "hi", run_config=config(key)))
    return answer.final_output


class Agents(Client):
    def ask(self, key, model):
        return asked(key, model)

    def stream(self, key, model):
        async def collect():
            agent = Agent(name="a", model=model)
            answer = Runner.run_streamed(agent, "hi", run_config=config(key))
            pieces = [
                event.data.delta
                async for event in answer.stream_events()
                if event.type == "raw_response_event"
                and event.data.type == "response.output_text.delta"
            ]
            return pieces, answer.context_wrapper.usage.total_tokens

        pieces, total = LOOP.run_until_complete(collect())
        yield from pieces
        yield {"usage": total}

    def leave(self, key, model):
        async def leaving():
            agent = Agent(name="a", model=model)
            answer = Runner.run_streamed(agent, "hi", run_config=config(key))
            async for event in answer.stream_events():
                if getattr(getattr(event, "data", None), "type", "").endswith("text.delta"):
                    at = time.time()
                    answer.cancel()
                    await asyncio.sleep(0.5)
                    return at * 1000

        return {"at": LOOP.run_until_complete(leaving())}

    def tools(self, key, model):
        return asked(key, model, tools=[get_weather])

    def shape(self, key, model):
        return asked(key, model, output_type=Place).model_dump()


run(Agents())

"""A session of OpenAI's Agents SDK, kept in its own store; the API is chat or responses."""

import asyncio
import os

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
from agents import (  # noqa: E402
    Agent,
    OpenAIProvider,
    RunConfig,
    Runner,
    SQLiteSession,
    ToolOutputImage,
    function_tool,
)
from session import API, BASE_URL, KEY, MODEL, base64_of, edit_file, play, read_file, run_command  # noqa: E402

LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(LOOP)


@function_tool
def view_image(path: str):
    """Shows a picture."""
    return ToolOutputImage(image_url=f"data:image/png;base64,{base64_of(path)}")


TOOLS = [*map(function_tool, (read_file, edit_file, run_command)), view_image]
PROVIDER = OpenAIProvider(api_key=KEY, base_url=BASE_URL, use_responses=API == "responses")
CONFIG = RunConfig(model_provider=PROVIDER, tracing_disabled=True)
SESSION = SQLiteSession("session", "session.db")


def with_picture(prompt, picture):
    url = f"data:image/png;base64,{picture}"
    content = [{"type": "input_text", "text": prompt}, {"type": "input_image", "image_url": url}]
    return [{"role": "user", "content": content}]


async def asked(prompt, heard, picture):
    # In chat completions the SDK omits the pictures of tools.
    if picture and API == "chat":
        prompt = with_picture(prompt, picture)
    agent = Agent(name="a", instructions="Be brief.", model=MODEL, tools=TOOLS)
    answer = Runner.run_streamed(
        agent, prompt, run_config=CONFIG, session=SESSION, max_turns=12
    )
    text = ""
    async for event in answer.stream_events():
        if getattr(getattr(event, "data", None), "type", "").endswith("output_text.delta"):
            text += event.data.delta
            if heard and heard(text):
                answer.cancel()
                await asyncio.sleep(0.5)
                return text
    return answer.final_output


async def begin(summary):
    await SESSION.clear_session()
    await SESSION.add_items([{"role": "user", "content": summary}])


play(
    lambda prompt, heard=None, picture=None: LOOP.run_until_complete(asked(prompt, heard, picture)),
    lambda summary: LOOP.run_until_complete(begin(summary)),
)

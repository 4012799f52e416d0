"""A session of Pydantic AI, kept as its JSON between the turns; the API is chat, responses or messages."""

import asyncio

from pydantic_ai import Agent, BinaryContent, ModelMessagesTypeAdapter
from pydantic_ai.messages import ModelRequest
from session import API, BASE_URL, KEY, MODEL, ROOT, bytes_of, edit_file, play, read_file, run_command


def view_image(path: str) -> BinaryContent:
    """Shows a picture."""
    return BinaryContent(data=bytes_of(path), media_type="image/png")


def model():
    if API == "messages":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(MODEL, provider=AnthropicProvider(api_key=KEY, base_url=ROOT))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if API == "responses" else OpenAIChatModel
    return kind(MODEL, provider=OpenAIProvider(api_key=KEY, base_url=BASE_URL))


AGENT = Agent(model(), tools=[read_file, edit_file, run_command, view_image])
KEPT = {"json": b"[]"}


async def turn(prompt, heard=None, _picture=None):
    history = ModelMessagesTypeAdapter.validate_json(KEPT["json"])
    text = ""
    async with AGENT.iter(prompt, message_history=history) as run:
        async for node in run:
            if not Agent.is_model_request_node(node):
                continue
            async with node.stream(run.ctx) as stream:
                async for piece in stream.stream_text(delta=True):
                    text += piece
                    if heard and heard(text):
                        return text
        KEPT["json"] = run.result.all_messages_json()
        return run.result.output


def restart(summary):
    KEPT["json"] = ModelMessagesTypeAdapter.dump_json([ModelRequest.user_text_prompt(summary)])


LOOP = asyncio.new_event_loop()
play(lambda *asked: LOOP.run_until_complete(turn(*asked)), restart)

"""LlamaIndex, by chat completions."""

from cases import BASE_URL, Client, run
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel


class Place(BaseModel):
    """A place."""

    city: str


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


def model_of(key, model):
    return OpenAILike(
        model=model,
        api_base=BASE_URL,
        api_key=key,
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=8192,
        additional_kwargs={"stream_options": {"include_usage": True}},
    )


QUESTION = [ChatMessage(role="user", content="hi")]


class LlamaIndex(Client):
    def ask(self, key, model):
        llm = model_of(key, model)
        llm.additional_kwargs = {}
        return llm.chat(QUESTION).message.content

    def stream(self, key, model):
        total = 0
        for chunk in model_of(key, model).stream_chat(QUESTION):
            usage = getattr(chunk.raw, "usage", None)
            total = usage.total_tokens if usage else total
            if chunk.delta:
                yield chunk.delta
        yield {"usage": total}

    def tools(self, key, model):
        llm = model_of(key, model)
        llm.additional_kwargs = {}
        return llm.predict_and_call([FunctionTool.from_defaults(get_weather)], "Weather?").response

    def shape(self, key, model):
        llm = model_of(key, model)
        llm.additional_kwargs = {}
        return llm.as_structured_llm(Place).chat(QUESTION).raw.model_dump()


run(LlamaIndex())

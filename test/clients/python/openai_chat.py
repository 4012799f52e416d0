"""OpenAI's SDK, any major, by chat completions."""

import json

import openai
from cases import BASE_URL, SCHEMA, Client, run

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}


def create(key, model, messages=None, **options):
    client = openai.OpenAI(base_url=BASE_URL, api_key=key)
    messages = messages or [{"role": "user", "content": "hi"}]
    return client.chat.completions.create(model=model, messages=messages, **options)


class Chat(Client):
    def ask(self, key, model):
        return create(key, model).choices[0].message.content

    def stream(self, key, model):
        with create(key, model, stream=True, stream_options={"include_usage": True}) as chunks:
            for chunk in chunks:
                if chunk.usage:
                    yield {"usage": chunk.usage.total_tokens}
                for choice in chunk.choices:
                    if choice.delta.content:
                        yield choice.delta.content

    def tools(self, key, model):
        messages = [{"role": "user", "content": "Weather?"}]
        answer = create(key, model, messages, tools=[TOOL]).choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            result = {"role": "tool", "tool_call_id": call.id, "content": f"sunny in {city}"}
            messages.append(result)
        return create(key, model, messages, tools=[TOOL]).choices[0].message.content

    def shape(self, key, model):
        answer = create(key, model, response_format=FORMAT)
        return json.loads(answer.choices[0].message.content)


run(Chat())

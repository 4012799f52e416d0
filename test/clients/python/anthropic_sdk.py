"""Anthropic's SDK, by messages."""

import json

import anthropic
from cases import ROOT, SCHEMA, Client, run

TOOL = {"name": "get_weather", "input_schema": SCHEMA}
QUESTION = [{"role": "user", "content": "hi"}]


def messages(key):
    return anthropic.Anthropic(base_url=ROOT, api_key=key).messages


class Messages(Client):
    def ask(self, key, model):
        answer = messages(key).create(model=model, max_tokens=99, messages=QUESTION)
        return answer.content[0].text

    def stream(self, key, model):
        asked = {"model": model, "max_tokens": 99, "messages": QUESTION}
        with messages(key).stream(**asked) as stream:
            yield from stream.text_stream
            usage = stream.get_final_message().usage
            yield {"usage": usage.input_tokens + usage.output_tokens}

    def tools(self, key, model):
        asked = [{"role": "user", "content": "Weather?"}]
        options = {"model": model, "max_tokens": 99, "tools": [TOOL]}
        first = messages(key).create(messages=asked, **options)
        asked.append({"role": "assistant", "content": first.content})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": f"sunny in {block.input['city']}",
            }
            for block in first.content
            if block.type == "tool_use"
        ]
        asked.append({"role": "user", "content": results})
        return messages(key).create(messages=asked, **options).content[0].text

    def shape(self, key, model):
        answer = messages(key).create(
            model=model,
            max_tokens=99,
            messages=QUESTION,
            output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
        )
        return json.loads(answer.content[0].text)


run(Messages())

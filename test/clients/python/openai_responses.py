"""OpenAI's SDK, by responses."""

import json

import openai
from cases import BASE_URL, SCHEMA, Client, run

TOOL = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": True}


def responses(key):
    return openai.OpenAI(base_url=BASE_URL, api_key=key).responses


class Responses(Client):
    def ask(self, key, model):
        return responses(key).create(model=model, input="hi").output_text

    def stream(self, key, model):
        with responses(key).stream(model=model, input="hi") as events:
            for event in events:
                if event.type == "response.output_text.delta":
                    yield event.delta
                if event.type == "response.completed":
                    yield {"usage": event.response.usage.total_tokens}
            events.get_final_response()

    def tools(self, key, model):
        asked = [{"role": "user", "content": "Weather?"}]
        first = responses(key).create(model=model, input=asked, tools=[TOOL])
        for item in first.output:
            asked.append(item.model_dump(exclude_none=True))
            if item.type == "function_call":
                output = f"sunny in {json.loads(item.arguments)['city']}"
                result = {"type": "function_call_output", "call_id": item.call_id, "output": output}
                asked.append(result)
        return responses(key).create(model=model, input=asked, tools=[TOOL]).output_text

    def shape(self, key, model):
        shape = {"type": "json_schema", "name": "place", "schema": SCHEMA, "strict": True}
        answer = responses(key).create(model=model, input="hi", text={"format": shape})
        return json.loads(answer.output_text)


run(Responses())

"""Calls the gateway with the official Python SDK and prints all it saw as one JSON object."""

import json
import sys
import time
import urllib.request

import openai

BASE_URL, KEY, NARROW_KEY, MODEL_SERVER = sys.argv[1:]
QUESTION = [{"role": "user", "content": "hello"}]
TOO_LONG = [{"role": "user", "content": "word " * 6000}]
WEATHER = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
TOOLS = [{"type": "function", "function": WEATHER}]


def client_with(key):
    return openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0)


client = client_with(KEY)


def ask(with_client=client, model="chat", messages=QUESTION, **options):
    return with_client.chat.completions.create(model=model, messages=messages, **options)


def whole():
    raw = client.chat.completions.with_raw_response.create(model="chat", messages=QUESTION)
    answer = raw.parse()
    return {
        "text": answer.choices[0].message.content,
        "finish": answer.choices[0].finish_reason,
        "usage": counts(answer.usage),
        "request_id": answer._request_id,
        "request_id_header": raw.headers.get("x-request-id"),
    }


def streamed(**options):
    chunks = list(ask(stream=True, **options))
    choices = [choice for chunk in chunks for choice in chunk.choices]
    return {
        "text": "".join(choice.delta.content or "" for choice in choices),
        "finish": choices[-1].finish_reason,
        "chunks_with_usage_key": sum("usage" in chunk.model_fields_set for chunk in chunks),
        "chunks_without_choices": sum(not chunk.choices for chunk in chunks),
        "usages": [counts(chunk.usage) for chunk in chunks if chunk.usage],
        "usage_is_last": chunks[-1].usage is not None,
    }


def tool_call():
    return called(ask(tools=TOOLS))


def tool_call_streamed():
    with client.chat.completions.stream(model="chat", messages=QUESTION, tools=TOOLS) as stream:
        return called(stream.get_final_completion())


def called(answer):
    (call,) = answer.choices[0].message.tool_calls
    return {
        "finish": answer.choices[0].finish_reason,
        "has_id": bool(call.id),
        "name": call.function.name,
        "arguments": json.loads(call.function.arguments),
    }


def abandoned():
    """Closes a stream that would go on, and waits for the model server to notice."""
    stream = ask(model="endless", stream=True)
    next(stream)
    works = processing_becomes(1)
    stream.close()
    return {"works_before": works, "idle_after": processing_becomes(0)}


def processing_becomes(count):
    for _ in range(1000):
        with urllib.request.urlopen(f"{MODEL_SERVER}/metrics") as metrics:
            if f"\nllamacpp:requests_processing {count}\n" in metrics.read().decode():
                return True
        time.sleep(0.02)
    return False


def refused(**options):
    try:
        ask(**options)
    except openai.APIStatusError as error:
        return {
            "type": type(error).__name__,
            "status": error.status_code,
            "code": error.code,
            "request_id": error.request_id,
            "request_id_in_body": error.body.get("request_id"),
        }
    return None


def counts(usage):
    return [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]


def models(key):
    return sorted(model.id for model in client_with(key).models.list())


seen = {
    "version": openai.__version__,
    "whole": whole(),
    "stream": streamed(),
    "stream_with_usage": streamed(stream_options={"include_usage": True}),
    "tool_call": tool_call(),
    "tool_call_streamed": tool_call_streamed(),
    "abandoned": abandoned(),
    "models": models(KEY),
    "models_narrow": models(NARROW_KEY),
    "unknown_key": refused(with_client=client_with("gw_test_nobody_" + "0" * 43)),
    "lacking_route": refused(with_client=client_with(NARROW_KEY)),
    "unknown_model": refused(model="nothing"),
    "too_long": refused(messages=TOO_LONG),
    "too_long_stream": refused(messages=TOO_LONG, stream=True),
}
print(json.dumps(seen))

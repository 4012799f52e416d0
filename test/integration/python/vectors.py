"""Asks the gateway for vectors and legacy completions with the official Python SDK; prints what it saw as JSON."""

import json
import sys

import openai

BASE_URL, KEY = sys.argv[1:]
client = openai.OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)


def vectors(**options):
    answer = client.embeddings.create(model="vectors", input=["hello", "w001 w002"], **options)
    return {
        "vectors": [one.embedding for one in answer.data],
        "tokens": answer.usage.prompt_tokens,
    }


def streamed(**options):
    asked = {"model": "vectors", "prompt": "hello", "max_tokens": 3, "stream": True}
    chunks = list(client.completions.create(**asked, **options))
    return {
        "text": "".join(chunk.choices[0].text for chunk in chunks if chunk.choices),
        "usages": [chunk.usage.completion_tokens for chunk in chunks if chunk.usage],
    }


print(
    json.dumps(
        {
            "by_default": vectors(),
            "as_floats": vectors(encoding_format="float"),
            "streamed": streamed(),
            "streamed_with_usage": streamed(stream_options={"include_usage": True}),
        }
    )
)

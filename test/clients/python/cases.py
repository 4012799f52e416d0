"""Puts a client through all cases and prints what it saw as one JSON object; `Client` is what each driver fills in."""

import json
import sys
import time

ARGS = json.loads(sys.argv[1])
ROOT = ARGS["url"]
BASE_URL = f"{ROOT}/v1"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Client:
    """Generators of `stream` yield pieces of text, and {"usage": tokens} where they are counted."""

    tools = shape = stream = None

    def ask(self, key, model):
        raise NotImplementedError

    def leave(self, key, model):
        pieces = self.stream(key, model)
        next(pieces)
        at = time.time()
        pieces.close()
        return {"at": at * 1000}


def streamed(client, key, model):
    text, usage = "", None
    for piece in client.stream(key, model):
        if isinstance(piece, dict):
            usage = piece["usage"]
        else:
            text += piece
    return {"text": text, "usage": usage}


def spent(client, key):
    client.ask(key, "plain")
    return client.ask(key, "plain")


def said(text):
    return text if isinstance(text, dict) else {"text": text}


def run(client):
    def streaming(case, model):
        return lambda: streamed(client, ARGS["keys"][case], model)

    def asking(case, model):
        return lambda: client.ask(ARGS["keys"][case], model)

    cases = {
        "whole": asking("whole", "plain"),
        "stream": client.stream and streaming("stream", "plain"),
        "tools": client.tools and (lambda: client.tools(ARGS["keys"]["tools"], "tools")),
        "shape": client.shape and (lambda: client.shape(ARGS["keys"]["shape"], "shape")),
        "bad": asking("bad", "bad"),
        "unknown": asking("unknown", "plain"),
        "spent": lambda: spent(client, ARGS["keys"]["spent"]),
        "scope": asking("scope", "plain"),
        "missing": asking("missing", "nothing"),
        "busy": lambda: spent(client, ARGS["keys"]["busy"]),
        "cut": client.stream and streaming("cut", "cut"),
        "slow": client.stream and streaming("slow", "slow"),
        "leave": client.stream and (lambda: client.leave(ARGS["keys"]["leave"], "endless")),
    }
    seen = {}
    for name, case in cases.items():
        if case is None:
            continue
        try:
            seen[name] = said(case())
        except BaseException as error:  # noqa: BLE001, some clients raise what is no Exception
            status = getattr(error, "status_code", None)
            seen[name] = {"error": f"{type(error).__name__}: {error}"[:300], "status": status}
    print("\n" + json.dumps(seen), flush=True)

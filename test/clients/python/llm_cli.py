"""The command line tool `llm`."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from cases import BASE_URL, Client, run

HOME = pathlib.Path(tempfile.mkdtemp())
PROGRAM = [str(pathlib.Path(sys.executable).with_name("llm")), "-m"]
MODELS = ["plain", "tools", "shape", "bad", "nothing", "cut", "slow", "endless"]
HOME.joinpath("extra-openai-models.yaml").write_text(
    "".join(
        f"- model_id: gw-{name}\n  model_name: {name}\n  api_base: {BASE_URL}\n"
        "  api_key_name: gw\n  supports_tools: true\n  supports_schema: true\n"
        for name in MODELS
    )
)
ENV = {**os.environ, "LLM_USER_PATH": str(HOME), "PYTHONUNBUFFERED": "1"}
# llm reads its standard input to the end.
NO_INPUT = subprocess.DEVNULL
TOOL = 'def get_weather(city: str) -> str:\n    "Tells."\n    return "sunny in " + city'


def asked(key, model, *options):
    command = [*PROGRAM, f"gw-{model}", "--key", key, "hi", *options]
    done = subprocess.run(
        command, env=ENV, stdin=NO_INPUT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done


class Llm(Client):
    def ask(self, key, model):
        return asked(key, model, "--no-stream").stdout.strip()

    def stream(self, key, model):
        done = asked(key, model, "--usage")
        yield done.stdout.strip()
        counts = [int(word) for word in done.stderr.replace(",", "").split() if word.isdigit()]
        yield {"usage": sum(counts)}

    def leave(self, key, model):
        command = [*PROGRAM, f"gw-{model}", "--key", key, "hi"]
        with subprocess.Popen(command, env=ENV, stdin=NO_INPUT, stdout=subprocess.PIPE) as child:
            child.stdout.read(1)
            at = time.time()
            child.send_signal(signal.SIGKILL)
        return {"at": at * 1000}

    def tools(self, key, model):
        return asked(key, model, "--functions", TOOL).stdout.strip()

    def shape(self, key, model):
        import json

        return json.loads(asked(key, model, "--schema", "city str", "--no-stream").stdout)


run(Llm())

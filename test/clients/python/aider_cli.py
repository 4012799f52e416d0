"""The coding agent aider: asked once, without a repository."""

import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from cases import BASE_URL, Client, run

PROGRAM = str(pathlib.Path(sys.executable).with_name("aider"))
OPTIONS = (
    "--no-git --no-check-update --no-show-model-warnings --no-pretty --no-analytics --no-gitignore "
    "--no-show-release-notes --yes-always --no-auto-lint --map-tokens 0 --no-suggest-shell-commands"
).split()


def command(key, model, *options):
    return [PROGRAM, *OPTIONS, "--chat-mode", "ask", "--model", f"openai/{model}", *options] + [
        "--openai-api-base", BASE_URL, "--openai-api-key", key, "--message", "hi",
    ]  # fmt: skip


def environment():
    home = tempfile.mkdtemp()
    return {"env": {**os.environ, "HOME": home, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}, "cwd": home}


def asked(key, model, stream):
    """In this process, because the program takes seconds to start."""
    os.environ.update(OPENAI_API_KEY=key, OPENAI_API_BASE=BASE_URL)
    from aider.coders import Coder
    from aider.io import InputOutput
    from aider.models import Model

    shown = InputOutput(yes=True, pretty=False, output=io.StringIO(), fancy_input=False)
    errors = []
    shown.tool_error = lambda text="", *_, **__: errors.append(str(text))
    coder = Coder.create(
        main_model=Model(f"openai/{model}"), edit_format="ask", io=shown, use_git=False,
        stream=stream, map_tokens=0, suggest_shell_commands=False,
    )  # fmt: skip
    text = coder.run(with_message="hi")
    if errors:
        raise RuntimeError("; ".join(errors))
    return text.strip(), coder.total_tokens_sent + coder.total_tokens_received


class Aider(Client):
    def ask(self, key, model):
        return asked(key, model, stream=False)[0]

    def stream(self, key, model):
        text, usage = asked(key, model, stream=True)
        yield text
        yield {"usage": usage}

    def leave(self, key, model):
        child = subprocess.Popen(
            command(key, model), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            **environment(),
        )
        shown = ""
        while not shown.endswith("word"):
            piece = child.stdout.read(1)
            if piece == "":
                raise RuntimeError(shown[-300:])
            shown += piece
        at = time.time()
        child.send_signal(signal.SIGKILL)
        child.wait()
        return {"at": at * 1000}


# aider writes its history to the working directory.
os.chdir(tempfile.mkdtemp())
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
run(Aider())

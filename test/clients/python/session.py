"""What the sessions of all SDKs have in common: their tools, the order of the tasks, and what they print."""

import base64
import json
import pathlib
import subprocess
import sys

ARGS = json.loads(sys.argv[1])
API = sys.argv[2]
ROOT, KEY, MODEL = ARGS["url"], ARGS["key"], ARGS["model"]
BASE_URL = f"{ROOT}/v1"


def read_file(path: str) -> str:
    """Reads a file."""
    return pathlib.Path(path).read_text()


def edit_file(path: str, old_text: str, new_text: str) -> str:
    """Puts one text into the place of another."""
    file = pathlib.Path(path)
    file.write_text(file.read_text().replace(old_text, new_text, 1))
    return "edited"


def run_command(command: str) -> str:
    """Runs a command of the shell."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout


def bytes_of(path):
    return pathlib.Path(path).read_bytes()


def base64_of(path):
    return base64.b64encode(bytes_of(path)).decode()


def play(turn, restart):
    """`turn(prompt, heard, picture)` goes on with the session, and leaves when `heard` says so; `restart(text)` begins it
    with a summary. The picture is for clients whose tools cannot give one."""
    prompts = ARGS["prompts"]

    def compact():
        summary = turn(f"{prompts['compact']}: write a summary of all that came before.")
        restart(f"What came before: {summary}")
        return summary

    tasks = {
        "work": lambda: turn(prompts["work"]),
        "look": lambda: turn(prompts["look"], None, base64_of(f"{ARGS['root']}picture.png")),
        "compact": compact,
        "abort": lambda: turn(prompts["abort"], lambda text: len(text) > 20),
        "resume": lambda: turn(prompts["resume"]),
    }
    shown = {}
    for task, run in tasks.items():
        try:
            shown[task] = {"text": run()}
        except Exception as error:
            shown[task] = {"error": f"{type(error).__name__}: {error}"[:500]}
    print(f"\n{json.dumps(shown)}", flush=True)

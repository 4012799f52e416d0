"""Instructor, by chat completions: whole and streamed objects."""

import threading
import time

import instructor
import openai
from cases import BASE_URL, Client, run
from pydantic import BaseModel


class Place(BaseModel):
    city: str


MESSAGES = [{"role": "user", "content": "hi"}]


def client_of(key, mode):
    return instructor.from_openai(openai.OpenAI(base_url=BASE_URL, api_key=key), mode=mode)


def create(key, model, mode=instructor.Mode.TOOLS):
    return client_of(key, mode).chat.completions.create(
        model=model, messages=MESSAGES, response_model=Place
    )


class Instructor(Client):
    def ask(self, key, model):
        create(key, "shape" if model == "plain" else model)
        return "hello"

    def shape(self, key, model):
        create(key, model, instructor.Mode.JSON_SCHEMA)
        return create(key, model).model_dump()

    def stream(self, key, model):
        """Objects that grow piece by piece, though this release hands them on when the stream is over."""
        client = client_of(key, instructor.Mode.JSON_SCHEMA)
        model = "shape" if model == "plain" else model
        places = client.chat.completions.create_partial(
            model=model, messages=MESSAGES, response_model=Place
        )
        yield "hello" if list(places)[-1].city == "Oslo" else "another place"

    def leave(self, key, model):
        """Its connections are closed while another thread reads the stream."""
        client = client_of(key, instructor.Mode.JSON_SCHEMA)
        asking = client.chat.completions.create_partial
        asked = {"model": model, "messages": MESSAGES, "response_model": Place}
        threading.Thread(target=lambda: list(asking(**asked)), daemon=True).start()
        time.sleep(1)
        at = time.time()
        client.client.close()
        return {"at": at * 1000}


run(Instructor())

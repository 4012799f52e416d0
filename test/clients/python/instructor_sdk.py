"""Instructor, by chat completions: whole and streamed objects."""

import instructor
import openai
from cases import BASE_URL, Client, run
from pydantic import BaseModel


class Place(BaseModel):
    city: str


def create(key, model, mode=instructor.Mode.TOOLS):
    client = instructor.from_openai(openai.OpenAI(base_url=BASE_URL, api_key=key), mode=mode)
    messages = [{"role": "user", "content": "hi"}]
    return client.chat.completions.create(model=model, messages=messages, response_model=Place)


class Instructor(Client):
    def ask(self, key, model):
        create(key, "shape" if model == "plain" else model)
        return "hello"

    def shape(self, key, model):
        create(key, model, instructor.Mode.JSON_SCHEMA)
        return create(key, model).model_dump()


run(Instructor())

"""Runs llama.cpp's own HTTP server, as the xllamacpp wheel holds it, until standard input closes.

The first line on standard output is the address it listens on. Standard input is a leash: a
server whose test was killed sees it close and ends with it.
"""

import argparse
import os
import sys

import xllamacpp


def read_options():
    parser = argparse.ArgumentParser(description="Serve one GGUF model on 127.0.0.1.")
    parser.add_argument("model", help="path of the GGUF file")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--parallel", type=int, default=2, help="requests served at a time")
    parser.add_argument("--context", type=int, default=4096, help="tokens for each of them")
    parser.add_argument("--api-key", help="the key clients must send; absent: none")
    parser.add_argument("--alias", default="tiny", help="the model's name in answers")
    parser.add_argument("--pooling", choices=["mean"], help="how vectors are made; absent: none are")
    return parser.parse_args()


def start_server(options):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = options.model
    parameters.model_alias = {options.alias}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = options.port
    parameters.n_parallel = options.parallel
    # llama.cpp divides its context evenly among its concurrent requests.
    parameters.n_ctx = options.context * options.parallel
    # One thread is faster than several for a model this small, and leaves the rest to the tests.
    parameters.cpuparams.n_threads = 1
    parameters.endpoint_metrics = True
    parameters.api_keys = [options.api_key] if options.api_key else []
    if options.pooling:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return xllamacpp.Server(parameters)


server = start_server(read_options())
print(server.listening_address, flush=True)
sys.stdin.read()
# The server's own clean-up waits for requests in progress; an ending test needs it gone now.
os._exit(0)

"""A real Triton server with one model of words, on free ports of 127.0.0.1: prints the ports of HTTP and of its metrics."""

import socket

import numpy
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def infer(requests):
    wanted = requests[0].data["max_tokens"].ravel()[0]
    for number in range(1, int(wanted) + 1):
        yield [{"text_output": numpy.array([f"w{number:03d} ".encode()], dtype=object)}]


http, grpc, metrics = free_port(), free_port(), free_port()
here = "127.0.0.1"
triton = Triton(config=TritonConfig(
    http_port=http, grpc_port=grpc, metrics_port=metrics,
    http_address=here, grpc_address=here, metrics_address=here))
triton.bind(
    model_name="tiny", infer_func=infer, config=ModelConfig(batching=False, decoupled=True),
    inputs=[Tensor(name="text_input", dtype=bytes, shape=(1,)),
            Tensor(name="max_tokens", dtype=numpy.int32, shape=(1,))],
    outputs=[Tensor(name="text_output", dtype=bytes, shape=(1,))])
triton.run()
print(f"triton {http} {metrics}", flush=True)
input()
triton.stop()

"""Calls every method of Triton's clients: every_method.py --protocol http|grpc -u ADDRESS --key-prefix PREFIX.

The examples of the client leave out some methods, the status of most failures, deadlines and cancellation.
"""

import argparse
import queue
import time

import numpy as np
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils.shared_memory as shared_memory
from tritonclient.utils import InferenceServerException

parser = argparse.ArgumentParser()
parser.add_argument("--protocol", choices=["http", "grpc"])
parser.add_argument("-u", "--url")
parser.add_argument("--key-prefix")
flags = parser.parse_args()
is_http = flags.protocol == "http"
module = tritonclient.http if is_http else tritonclient.grpc

called = set()


class Client(module.InferenceServerClient):
    """Keeps the names of the methods that are called."""

    def __getattribute__(self, name):
        called.add(name)
        return super().__getattribute__(name)


client = Client(flags.url, concurrency=4) if is_http else Client(flags.url)


def fails(http_status, grpc_status, call, *arguments, **named):
    """Expects a failure with a status, and returns its message."""
    try:
        call(*arguments, **named)
    except InferenceServerException as error:
        expected = str(http_status) if is_http else f"StatusCode.{grpc_status}"
        assert error.status() == expected, f"{error.status()} {error.message()}, not {expected}"
        return error.message()
    raise AssertionError(f"{call} did not fail")


def field(answer, name):
    return answer[name] if is_http else getattr(answer, name)


def numbers(value, shape=(1, 16)):
    tensor = module.InferInput("INPUT0", shape, "INT32")
    tensor.set_data_from_numpy(np.full(shape, value, dtype=np.int32))
    other = module.InferInput("INPUT1", shape, "INT32")
    other.set_data_from_numpy(np.ones(shape, dtype=np.int32))
    return [tensor, other]


def sum_of(result):
    return result.as_numpy("OUTPUT0").tolist()[0][0]


# Control of models. The server starts without any that is loaded.
assert client.is_server_live() and client.is_server_ready()
assert field(client.get_server_metadata(), "name") == "triton"
index = client.get_model_repository_index()
index = index if is_http else index.models
assert {field(one, "state") for one in index} == {"UNAVAILABLE"}
assert "is not loaded" in fails(503, "UNAVAILABLE", client.infer, "simple", numbers(1))
assert not client.is_model_ready("simple")
client.load_model("simple")
client.load_model("slow", config='{"max_batch_size": 0}')
assert client.is_model_ready("simple") and client.is_model_ready("simple", "1")
fails(500, "INTERNAL", client.load_model, "none")

# Metadata
metadata = client.get_model_metadata("simple")
assert [field(one, "datatype") for one in field(metadata, "inputs")] == ["INT32", "INT32"]
config = client.get_model_config("simple")
assert field(config if is_http else config.config, "max_batch_size") == 8
assert "unknown model" in fails(404, "NOT_FOUND", client.get_model_metadata, "none")
fails(404, "NOT_FOUND", client.get_model_metadata, "simple", "7")
fails(400, "INVALID_ARGUMENT", client.get_model_metadata, "simple", "one")

# Inference: parameters of requests, wrong shapes, several at once
result = client.infer("simple", numbers(1), request_id="42", priority=0, timeout=10_000_000, parameters={"own": 1})
assert sum_of(result) == 2 and field(result.get_response(), "id") == "42"
assert "INPUT0" in fails(400, "INVALID_ARGUMENT", client.infer, "simple", numbers(1, (1, 15)))
fails(400, "INVALID_ARGUMENT", client.infer, "simple", numbers(1, (9, 16)))
fails(400, "INVALID_ARGUMENT", client.infer, "simple", numbers(1), sequence_id=1)
statistics = field(client.get_inference_statistics("simple"), "model_stats")
assert int(field(statistics[0], "inference_count")) == 1

if is_http:
    pending = [client.async_infer("simple", numbers(i)) for i in range(20)]
    assert [sum_of(one.get_result()) for one in pending] == list(range(1, 21))
    body, json_size = Client.generate_request_body(numbers(5))
    assert json_size > 0 and len(body) > json_size
else:
    answers = queue.Queue()

    def keep(result, error):
        answers.put((result, error))

    for i in range(20):
        client.async_infer("simple", numbers(i), keep)
    found = [answers.get(timeout=10) for _ in range(20)]
    assert sorted(sum_of(result) for result, _ in found) == list(range(1, 21))

    # A deadline, and a client that leaves, are seen by the model: its run fails.
    fails(504, "DEADLINE_EXCEEDED", client.infer, "slow", numbers(1), client_timeout=0.2)
    call = client.async_infer("slow", numbers(1), keep)
    time.sleep(0.2)
    call.cancel()
    assert answers.get(timeout=10)[1].status() == "StatusCode.CANCELLED"
    for _ in range(100):
        fail = client.get_inference_statistics("slow").model_stats[0].inference_stats.fail
        if fail.count == 2:
            break
        time.sleep(0.05)
    assert fail.count == 2, fail

    # A stream goes on behind an error.
    client.start_stream(keep, compression_algorithm="gzip")
    for model in ["simple", "none", "simple"]:
        client.async_stream_infer(model, numbers(3), request_id=model)
    found = [answers.get(timeout=10) for _ in range(3)]
    assert [error is None for _, error in found] == [True, False, True]
    client.stop_stream()

# Shared memory
key = f"/{flags.key_prefix}every-method"
region = shared_memory.create_shared_memory_region("data", key, 128)
try:
    fails(400, "INVALID_ARGUMENT", client.register_system_shared_memory, "data", "/other", 128)
    client.register_system_shared_memory("data", key, 128)
    fails(400, "ALREADY_EXISTS", client.register_system_shared_memory, "data", key, 128)
    status = client.get_system_shared_memory_status()
    assert field(status[0] if is_http else status.regions["data"], "key") == key
    shared_memory.set_shared_memory_region(region, [np.full(16, 7, dtype=np.int32)])
    inputs = numbers(1)
    inputs[0].set_shared_memory("data", 64)
    outputs = [module.InferRequestedOutput("OUTPUT0")]
    outputs[0].set_shared_memory("data", 64, offset=64)
    client.infer("simple", inputs, outputs=outputs)
    assert shared_memory.get_contents_as_numpy(region, np.int32, [16], 64).tolist() == [8] * 16
    client.unregister_system_shared_memory("data")
    fails(404, "NOT_FOUND", client.infer, "simple", inputs, outputs=outputs)
    fails(404, "NOT_FOUND", client.get_system_shared_memory_status, "data")
finally:
    shared_memory.destroy_shared_memory_region(region)
cuda = client.get_cuda_shared_memory_status()
assert len(cuda if is_http else cuda.regions) == 0
client.unregister_cuda_shared_memory()
fails(501, "UNIMPLEMENTED", client.register_cuda_shared_memory, "data", b"AAAA", 0, 64)

# What the server does not have is an error, not a hang.
fails(404, "UNIMPLEMENTED", client.get_trace_settings)
fails(404, "UNIMPLEMENTED", client.update_trace_settings)
fails(404, "UNIMPLEMENTED", client.get_log_settings)
fails(404, "UNIMPLEMENTED", client.update_log_settings, {})

client.unload_model("simple")
assert not client.is_model_ready("simple")
client.close()

without_server = {"plugin", "register_plugin", "unregister_plugin", "generate_request_body", "parse_response_body"}
methods = {name for name in dir(module.InferenceServerClient) if not name.startswith("_")}
assert methods - called - without_server == set(), methods - called
print(f"PASS: {len(methods - without_server)} methods")

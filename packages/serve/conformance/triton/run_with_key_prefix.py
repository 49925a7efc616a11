"""Runs an example whose keys of shared memory get a prefix: run_with_key_prefix.py PREFIX EXAMPLE [ARGUMENTS].

The keys of the examples are fixed and have no common start, but a server of Tenon requires one. Nothing else differs.
"""

import runpy
import sys

import tritonclient.grpc
import tritonclient.http
import tritonclient.utils.shared_memory as shared_memory

prefix, example = sys.argv[1:3]


def prefixed(key):
    return "/" + prefix + key.lstrip("/")


create = shared_memory.create_shared_memory_region
shared_memory.create_shared_memory_region = lambda name, key, *rest, **named: create(
    name, prefixed(key), *rest, **named
)

for module in (tritonclient.http, tritonclient.grpc):

    class Client(module.InferenceServerClient):
        def register_system_shared_memory(self, name, key, *rest, **named):
            return super().register_system_shared_memory(name, prefixed(key), *rest, **named)

    module.InferenceServerClient = Client

sys.argv = sys.argv[2:]
runpy.run_path(example, run_name="__main__")

"""Opens memory that a TypeScript program has exported, reads one tensor of it, and writes another.

    python3 client.py SOCKET INPUT OUTPUT

The protocol is described in docs/sharing-memory.md. Only the standard library is needed; numpy is used if it is installed.
"""
import json
import mmap
import os
import socket
import struct
import sys

HEADER = struct.Struct("<4s4HI")  # magic, version, index, messages, descriptors, length of the text
FORMATS = {"float32": "f", "float64": "d", "int32": "i", "int64": "q", "uint8": "B"}


def open_memory(path):
    """Returns the chunks by number, each as a mapping, and the locations of the named tensors."""
    text, descriptors = b"", []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(path)
        index, count = 0, 1
        while index < count:
            message, received, _, _ = socket.recv_fds(connection, 65536, 16)
            descriptors += received
            magic, version, at, count, _, length = HEADER.unpack_from(message)
            if (magic, version, at) != (b"TNSM", 1, index):
                raise ValueError("the owner of the memory speaks another protocol")
            text += message[HEADER.size : HEADER.size + length]
            index += 1
    description = json.loads(text)
    chunks = {}
    for descriptor, chunk in zip(descriptors, description["chunks"]):
        chunks[chunk["id"]] = mmap.mmap(descriptor, chunk["byteSize"])
        os.close(descriptor)
    return chunks, description["tensors"]


def tensor(chunks, location):
    """Returns the elements of a row-major tensor as a view of the memory itself."""
    count = 1
    for size in location["shape"]:
        count *= size
    code = FORMATS[location["dtype"]]
    start = location["byteOffset"]
    return memoryview(chunks[location["chunk"]])[start : start + count * struct.calcsize(code)].cast(code)


def main(path, source, target):
    chunks, locations = open_memory(path)
    x, y = (tensor(chunks, locations[name]) for name in (source, target))
    try:
        import numpy

        numpy.sqrt(numpy.frombuffer(x, numpy.float32), out=numpy.frombuffer(y, numpy.float32))
    except ImportError:
        for i, value in enumerate(x):
            y[i] = value**0.5
    print(f"python: wrote {len(y)} square roots to {target}")


main(*sys.argv[1:])

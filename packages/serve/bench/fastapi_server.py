"""The identity model of the benchmark as a server of FastAPI: it reads the same request, and answers the same bytes. Prints its port."""

import json
import socket

import numpy as np
import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response

app = FastAPI()
NUMPY = {"FP32": np.float32}


@app.post("/v2/models/{model}/infer")
async def infer(model: str, request: Request) -> Response:
    body = await request.body()
    size = int(request.headers["inference-header-content-length"])
    infer_request = json.loads(body[:size])
    tensors = {}
    offset = size
    for tensor in infer_request["inputs"]:
        end = offset + tensor["parameters"]["binary_data_size"]
        elements = np.frombuffer(body[offset:end], NUMPY[tensor["datatype"]])
        if end > len(body) or elements.size != np.prod(tensor["shape"]):
            raise HTTPException(400, "the input must have the bytes of its shape")
        tensors[tensor["name"]] = elements.reshape(tensor["shape"])
        offset = end
    y = tensors["x"]
    output = {"name": "y", "datatype": "FP32", "shape": y.shape, "parameters": {"binary_data_size": y.nbytes}}
    head = json.dumps({"model_name": model, "model_version": "1", "outputs": [output]}).encode()
    return Response(
        head + y.tobytes(),
        media_type="application/octet-stream",
        headers={"inference-header-content-length": str(len(head))},
    )


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(1024)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run(sockets=[listener])

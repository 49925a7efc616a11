import { create, toBinary } from '@bufbuild/protobuf'
import { ModelInferRequestSchema } from '../src/generated/open_inference_pb.js'

/** The description of the only input of a request. */
const described = (shape: readonly number[]) => ({ name: 'x', datatype: 'FP32', shape })

/** A request of HTTP/1.1 with a binary tensor of zeros, its head included. */
export function httpRequest(model: string, shape: readonly number[]): Buffer {
  const byteSize = 4 * shape.reduce((product, size) => product * size, 1)
  const json = JSON.stringify({
    inputs: [{ ...described(shape), parameters: { binary_data_size: byteSize } }],
    parameters: { binary_data_output: true },
  })
  const head = [
    `POST /v2/models/${model}/infer HTTP/1.1`,
    'host: 127.0.0.1',
    `inference-header-content-length: ${json.length}`,
    `content-length: ${json.length + byteSize}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`), Buffer.alloc(byteSize)])
}

/** A request of gRPC with a tensor of zeros in `raw_input_contents`, behind the five bytes before each message. */
export function grpcRequest(model: string, shape: readonly number[]): Buffer {
  const message = toBinary(
    ModelInferRequestSchema,
    create(ModelInferRequestSchema, {
      modelName: model,
      inputs: [{ ...described([]), shape: shape.map(BigInt) }],
      rawInputContents: [new Uint8Array(4 * shape.reduce((product, size) => product * size, 1))],
    }),
  )
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

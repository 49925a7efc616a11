import {
  create,
  fromBinary,
  toBinary,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js'
import { expect, onTestFinished } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import type { Model, ServerOptions } from '../src/index.ts'
import { Served } from './support.ts'

interface CallerOptions {
  /** When the call ends without an answer, in milliseconds of `Date.now()`. */
  readonly deadline?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of a server that ends with the test. */
export class Caller {
  readonly served: Served
  readonly client: Client

  private constructor(served: Served) {
    this.served = served
    this.client = new Client(`127.0.0.1:${served.server.grpcPort}`, credentials.createInsecure())
    onTestFinished(() => this.client.close())
  }

  static async start(models: readonly Model[], options: Partial<ServerOptions> = {}): Promise<Caller> {
    return new Caller(await Served.start(models, { grpc: { port: 0 }, ...options }))
  }

  /** Calls a method with one answer. Rejects with the status. @param request a message, or the bytes of one. */
  call<Method extends DescMethod>(
    method: Method,
    request: MessageInitShape<Method['input']> | Buffer,
    { headers = {}, ...options }: CallerOptions = {},
  ): Promise<MessageShape<Method['output']>> {
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: Buffer) => message,
        (bytes) => bytes,
        Buffer.isBuffer(request)
          ? request
          : Buffer.from(toBinary(method.input, create(method.input, request as MessageInitShape<Method['input']>))),
        metadata,
        options,
        (error, bytes) => {
          if (error === null) resolve(fromBinary(method.output, bytes!) as MessageShape<Method['output']>)
          else reject(error)
        },
      )
    })
  }

  /** Runs a model with one input, `x: f32[n]`. */
  async infer(modelName: string, x: Float32Array, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [BigInt(x.length)] }]
    const request = { modelName, inputs, rawInputContents: [new Uint8Array(x.buffer as ArrayBuffer)] }
    await this.call(GRPCInferenceService.method.modelInfer, request, { headers })
  }

  /** The status and the text of a call that fails. */
  async errorOf<Method extends DescMethod>(
    method: Method,
    request: MessageInitShape<Method['input']> | Buffer,
    options: CallerOptions = {},
  ): Promise<[string, string]> {
    const error = await this.call(method, request, options).then(
      () => expect.fail('answered'),
      (reason: ServiceError) => reason,
    )
    return [status[error.code], error.details]
  }
}

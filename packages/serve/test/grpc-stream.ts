import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { Metadata, type CallOptions, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js'
import { eventually } from '@tenon/config/eventually'
import { expect } from 'vitest'
import {
  ModelInferRequestSchema,
  ModelStreamInferResponseSchema,
  type ModelStreamInferResponse,
} from '../src/generated/open_inference_pb.js'
import type { Caller } from './caller.ts'

const same = (bytes: Buffer): Buffer => bytes

/** One call of `ModelStreamInfer`, which reads all answers. */
export class GrpcStream {
  readonly call: ClientDuplexStream<Buffer, Buffer>
  readonly answers: ModelStreamInferResponse[] = []
  /** Resolves with the text of an error that ended the call, or undefined for none. */
  readonly ended: Promise<string | undefined>

  constructor({ client }: Caller, options: CallOptions = {}, headers: Readonly<Record<string, string>> = {}) {
    const path = '/inference.GRPCInferenceService/ModelStreamInfer'
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    this.call = client.makeBidiStreamRequest(path, same, same, metadata, options)
    this.call.on('data', (bytes: Buffer) => this.answers.push(fromBinary(ModelStreamInferResponseSchema, bytes)))
    this.ended = new Promise((resolve) => {
      this.call.on('end', () => resolve(undefined))
      this.call.on('error', ({ details }: ServiceError) => resolve(details))
    })
  }

  write(request: MessageInitShape<typeof ModelInferRequestSchema>): void {
    this.call.write(Buffer.from(toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, request))))
  }

  /** Asks the model `count` for a number of answers. */
  writeCount(id: string, n: number, wantsFinal = false): void {
    const final = {
      triton_enable_empty_final_response: { parameterChoice: { case: 'boolParam', value: true } as const },
    }
    this.write({
      modelName: 'count',
      id,
      ...(wantsFinal ? { parameters: final } : {}),
      inputs: [{ name: 'n', datatype: 'INT32', shape: [1n] }],
      rawInputContents: [new Uint8Array(Int32Array.of(n).buffer)],
    })
  }

  /** Ends the requests, and waits for the end of the answers. */
  async end(): Promise<string | undefined> {
    this.call.end()
    return this.ended
  }

  /** Waits for a number of answers. */
  async received(count: number): Promise<void> {
    await eventually(() => expect(this.answers.length).toBeGreaterThanOrEqual(count))
  }

  /** The parts of each answer that tests compare: its id, its only element or its error, and whether it is the last one of its request. */
  summary(): [id: string | undefined, value: number | string | undefined, isFinal: unknown][] {
    return this.answers.map(({ errorMessage, inferResponse }) => {
      const [raw] = inferResponse?.rawOutputContents ?? []
      const value = raw === undefined ? undefined : new DataView(raw.buffer, raw.byteOffset).getInt32(0, true)
      const isFinal = inferResponse?.parameters['triton_final_response']?.parameterChoice.value
      return [inferResponse?.id, errorMessage === '' ? value : errorMessage, isFinal]
    })
  }
}

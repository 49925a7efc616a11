import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { status, type ServiceError } from '@grpc/grpc-js'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { ModelInferRequestSchema, ModelStreamInferResponseSchema } from '../src/generated/open_inference_pb.js'
import { Caller } from './caller.ts'
import { heldModel } from './models.ts'

const same = (bytes: Buffer): Buffer => bytes

/** Resolves with the text of the status that ends a call. */
const endOf = (call: Readable): Promise<string> =>
  new Promise((resolve) => {
    // Without a reader, a call does not get to its end.
    call.on('data', () => {})
    call.on('error', ({ details }: ServiceError) => resolve(details))
  })

test('calls without an end do not hold up the end of the server', async () => {
  const { model: slow, begun, finish } = heldModel()
  const { client, served } = await Caller.start([slow])
  const watch = client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', same, same, Buffer.alloc(0))
  await once(watch, 'data')
  const stream = () => client.makeBidiStreamRequest('/inference.GRPCInferenceService/ModelStreamInfer', same, same)
  const [idle, busy] = [stream(), stream()]
  const ends = [watch, idle, busy].map(endOf)
  const request = create(ModelInferRequestSchema, {
    modelName: 'slow',
    id: 'a',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }],
    rawInputContents: [new Uint8Array(4)],
  })
  busy.write(Buffer.from(toBinary(ModelInferRequestSchema, request)))
  await begun

  const isDrained = served.server.closeAsync()
  const answer = once(busy, 'data') as Promise<[Buffer]>
  // The others end while this one runs.
  expect(await Promise.all(ends.slice(0, 2))).toEqual(['the server is closing', 'the server is closing'])
  finish()
  const [bytes] = await answer
  expect(fromBinary(ModelStreamInferResponseSchema, bytes).inferResponse?.id).toBe('a')
  expect(await ends[2]).toBe('the server is closing')
  expect(await isDrained).toBe(true)
})

test('a call that runs when the time to drain is over ends with its connection', async () => {
  const { model: slow, begun, finish } = heldModel()
  const { client, served } = await Caller.start([slow])
  const request = create(ModelInferRequestSchema, {
    modelName: 'slow',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }],
    rawInputContents: [new Uint8Array(4)],
  })
  const bytes = Buffer.from(toBinary(ModelInferRequestSchema, request))
  const failure = new Promise<ServiceError | null>((resolve) => {
    client.makeUnaryRequest('/inference.GRPCInferenceService/ModelInfer', same, same, bytes, resolve)
  })
  await begun
  expect(await served.server.closeAsync({ deadline: 100 })).toBe(false)
  expect(await failure).toMatchObject({ code: status.CANCELLED })
  finish()
})

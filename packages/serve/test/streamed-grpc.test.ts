import { tensor } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel } from '../src/index.ts'
import { Caller } from './caller.ts'
import { GrpcStream } from './grpc-stream.ts'
import { double } from './models.ts'
import { count, endlessModel, steppedModel } from './streams.ts'
import { eventually } from '@tenon/config/eventually'

const one = { inputs: [{ name: 'n', datatype: 'INT32', shape: [1n] }], rawInputContents: [new Uint8Array(4)] }

describe('ModelStreamInfer of a model with streams', () => {
  test('has any number of answers for a request, and an empty final one for requests that want it', async () => {
    const caller = await Caller.start([count])
    const stream = new GrpcStream(caller)
    stream.writeCount('three', 3)
    await stream.received(3)
    stream.writeCount('none', 0)
    stream.writeCount('two', 2, true)
    await stream.received(6)
    stream.writeCount('empty', 0, true)
    expect(await stream.end()).toBe(undefined)
    expect(stream.summary()).toEqual([
      ['three', 0, false],
      ['three', 1, false],
      ['three', 2, false],
      ['two', 0, false],
      ['two', 1, false],
      ['two', undefined, true],
      ['empty', undefined, true],
    ])
    const last = stream.answers.at(-1)!.inferResponse!
    expect([last.modelName, last.modelVersion, last.outputs]).toEqual(['count', '1', []])
  })

  test('answers several requests side by side, and those of other models in their order beside them', async () => {
    const stepped = steppedModel()
    const caller = await Caller.start([stepped.model, double])
    const stream = new GrpcStream(caller)
    const write = (id: string): void =>
      stream.write({
        modelName: 'stepped',
        id,
        inputs: [{ name: 'x', datatype: 'INT32', shape: [1n] }],
        rawInputContents: [new Uint8Array(Int32Array.of(id.charCodeAt(0)).buffer)],
      })
    const writeDouble = (id: string): void =>
      stream.write({
        modelName: 'double',
        id,
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1n, 4n] }],
        rawInputContents: [new Uint8Array(16)],
      })
    write('a')
    write('b')
    writeDouble('c')
    writeDouble('d')
    await stream.received(2) // while a and b wait
    const ids = (): (string | undefined)[] => stream.summary().map(([id]) => id)
    expect(ids()).toEqual(['c', 'd'])
    stepped.step('b'.charCodeAt(0))
    await stream.received(3)
    stepped.step('a'.charCodeAt(0))
    await stream.received(4)
    expect(ids()).toEqual(['c', 'd', 'b', 'a'])
    stepped.finish()
    expect(await stream.end()).toBe(undefined)
  })

  test('sends the error of one request with its id, and goes on with the others', async () => {
    const failing = defineModel({
      name: 'failing',
      signature: '(n: s32[1]) -> (i: s32[1])',
      run: async function* () {
        yield tensor('s32', [1], [7])
        throw new RangeError('no more')
      },
    })
    const caller = await Caller.start([failing, count])
    const stream = new GrpcStream(caller)
    stream.write({ modelName: 'failing', id: 'a', ...one })
    await stream.received(2)
    stream.writeCount('b', 1)
    await stream.received(3)
    stream.write({ modelName: 'count', id: 'c', inputs: [] })
    await stream.end()
    expect(stream.summary()).toEqual([
      ['a', 7, false],
      ['a', 'the model failing failed', true],
      ['b', 0, false],
      ['c', 'the request must have the input n of the model count', true],
    ])
  })

  test('ends the generators of a client that leaves, and gives all memory back', async () => {
    const endless = endlessModel(1)
    const caller = await Caller.start([endless.model])
    const stream = new GrpcStream(caller)
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [1n] }]
    for (let i = 0; i < 5; i++) {
      stream.write({ modelName: 'endless', id: `${i}`, inputs, rawInputContents: [new Uint8Array(4)] })
    }
    await stream.received(50)
    stream.call.cancel()
    await eventually(() => expect([endless.begun, endless.ended]).toEqual([5, 5]))
    expect(endless.signals.every(({ aborted }) => aborted)).toBe(true)
    const text = (await caller.served.send('GET', '/metrics')).body.toString()
    expect(text).toContain('nv_inference_request_failure{model="endless",version="1",reason="CANCELED"} 5')
    expect(text).toContain('tenon_in_flight_bytes 0')
    expect(text).toContain('nv_inference_pending_request_count{model="endless",version="1"} 0')
  })

  test('a deadline of the call ends its generators', async () => {
    const endless = endlessModel(1)
    const caller = await Caller.start([endless.model])
    const stream = new GrpcStream(caller, { deadline: Date.now() + 300 })
    stream.write({
      modelName: 'endless',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }],
      rawInputContents: [new Uint8Array(4)],
    })
    expect(await stream.ended).toContain('Deadline exceeded')
    await eventually(() => expect([endless.begun, endless.ended]).toEqual([1, 1]))
  })
})

test('ModelInfer refuses a model with streams as Triton does', async () => {
  const caller = await Caller.start([count])
  const [status, details] = await caller.errorOf(GRPCInferenceService.method.modelInfer, { modelName: 'count', ...one })
  expect(status).toBe('UNIMPLEMENTED')
  expect(details).toContain("ModelInfer RPC doesn't support models with decoupled transaction policy")
})

test('the configuration of a model says whether it has streams', async () => {
  const caller = await Caller.start([count, double])
  const { modelConfig } = GRPCInferenceService.method
  expect((await caller.call(modelConfig, { name: 'count' })).config?.modelTransactionPolicy?.decoupled).toBe(true)
  expect((await caller.call(modelConfig, { name: 'double' })).config?.modelTransactionPolicy).toBe(undefined)
  const [, config] = await caller.served.get('/v2/models/count/config')
  expect(config).toMatchObject({ model_transaction_policy: { decoupled: true }, instance_group: [{ count: 128 }] })
})

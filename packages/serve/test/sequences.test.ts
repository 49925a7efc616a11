import { eventually } from '@tenon/config/eventually'
import { tensor, type Tensor } from '@tenon/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { defineModel, type Model } from '../src/index.ts'
import { Caller } from './caller.ts'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { GrpcStream } from './grpc-stream.ts'
import { double } from './models.ts'
import { input, Served } from './support.ts'

const signature = '(x: s32[1]) -> (y: s32[1])'
const numberOf = (x: Tensor): number => (x.view() as Int32Array)[0]!

/** The options of the sequences of a test. */
interface Options {
  readonly maxCandidateSequences?: number
  readonly maxSequenceIdleMicroseconds?: number
}

/** The model `sum`, whose answers are the sums of the inputs of each sequence, and what a test sees of its states. */
function sumModel(options: Options = {}, others: object = {}) {
  const seen = { made: 0, ended: 0, running: 0, most: 0, model: undefined as unknown as Model<typeof signature> }
  seen.model = defineModel({
    name: 'sum',
    signature,
    instances: 8,
    ...others,
    sequence: {
      maxSequenceIdleMicroseconds: 60_000_000,
      ...options,
      state: () => {
        seen.made++
        return { total: 0, [Symbol.dispose]: () => void seen.ended++ }
      },
    },
    run: async ({ x }, { sequence }) => {
      seen.most = Math.max(seen.most, ++seen.running)
      const { state } = sequence
      const before = state.total
      await new Promise((resolve) => setTimeout(resolve, 1))
      state.total = before + numberOf(x)
      seen.running--
      return tensor('s32', [1], [state.total])
    },
  })
  return seen
}

type Place = { readonly id?: unknown; readonly start?: unknown; readonly end?: unknown }

/** Sends a request of a sequence, and returns its output or its error. */
async function send(served: Served, x: number, { id, start, end }: Place): Promise<number | string> {
  const parameters = {
    ...(id === undefined ? {} : { sequence_id: id }),
    ...(start === undefined ? {} : { sequence_start: start }),
    ...(end === undefined ? {} : { sequence_end: end }),
  }
  const [, json] = await served.infer('sum', { parameters, inputs: [input('x', 'INT32', [1], [x])] })
  const { error, outputs } = json as { error?: string; outputs?: { data: number[] }[] }
  return error ?? outputs![0]!.data[0]!
}

const notStarted = (id: string): string =>
  `inference request for sequence ${id} to model 'sum' must specify the START flag on the first request of the sequence`

describe('a sequence', () => {
  test('has a state of its own from its start to its end', async () => {
    const sum = sumModel()
    const served = await Served.start([sum.model])
    expect(await send(served, 1, { id: 7, start: true })).toBe(1)
    // The number 7 and the name "7" are different sequences.
    expect(await send(served, 10, { id: '7', start: true })).toBe(10)
    expect(await send(served, 2, { id: 7 })).toBe(3)
    expect(await send(served, 20, { id: '7' })).toBe(30)
    expect(await send(served, 3, { id: 7, end: true })).toBe(6)
    expect(sum.ended).toBe(1)
    expect(await send(served, 4, { id: 7 })).toContain(notStarted('7'))
    expect(await send(served, 30, { id: '7', end: true })).toBe(60)
    expect(await send(served, 5, { id: 7, start: true, end: true })).toBe(5)
    expect([sum.made, sum.ended]).toEqual([3, 3])
    const text = (await served.send('GET', '/metrics')).body.toString()
    expect(text).toContain('tenon_sequences{model="sum",version="1"} 0')
  })

  test('starts anew with another start, and its state ends', async () => {
    const sum = sumModel()
    const served = await Served.start([sum.model])
    expect(await send(served, 1, { id: 'a', start: true })).toBe(1)
    expect(await send(served, 5, { id: 'a', start: true })).toBe(5)
    expect([sum.made, sum.ended]).toEqual([2, 1])
    expect(await send(served, 6, { id: 'a', end: true })).toBe(11)
    expect([sum.made, sum.ended]).toEqual([2, 2])
  })

  test('runs its requests one behind the other and in order, and others beside them', async () => {
    const sum = sumModel()
    const served = await Served.start([sum.model])
    const ids = ['a', 'b', 'c', 'd']
    await Promise.all(ids.map((id) => send(served, 0, { id, start: true })))
    sum.most = 0
    const answers = await Promise.all(
      ids.map(async (id) => Promise.all(Array.from({ length: 20 }, () => send(served, 1, { id })))),
    )
    const expected = Array.from({ length: 20 }, (_, i) => i + 1)
    for (const one of answers) expect((one as number[]).toSorted((a, b) => a - b)).toEqual(expected)
    expect(sum.most).toBeGreaterThan(1)
    expect(sum.most).toBeLessThanOrEqual(ids.length)
  })

  test('may have an exact number of 64 bits', async () => {
    const served = await Served.start([sumModel().model])
    const request = (id: string, start: boolean): string =>
      `{"parameters":{"sequence_id":${id},"sequence_start":${start}},"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]}]}`
    const statusOf = async (id: string, start: boolean): Promise<number> =>
      (await served.send('POST', '/v2/models/sum/infer', request(id, start))).status
    expect(await statusOf('18446744073709551615', true)).toBe(200)
    expect(await statusOf('18446744073709551614', false)).toBe(400)
    expect(await statusOf('18446744073709551615', false)).toBe(200)
    expect(await statusOf('18446744073709551616', true)).toBe(400)
    expect(await statusOf('-1', true)).toBe(400)
    expect(await statusOf('1.5', true)).toBe(400)
  })

  test('that waits too long for a request ends, and gives its slot to another one', async () => {
    const sum = sumModel({ maxCandidateSequences: 1, maxSequenceIdleMicroseconds: 300_000 })
    const served = await Served.start([sum.model])
    expect(await send(served, 1, { id: 'a', start: true })).toBe(1)
    // Waits for the slot of a.
    expect(await send(served, 2, { id: 'b', start: true })).toBe(2)
    expect([sum.made, sum.ended]).toEqual([2, 1])
    expect(await send(served, 1, { id: 'a' })).toContain(notStarted('a'))
    expect(await send(served, 2, { id: 'b' })).toBe(4)
    await eventually(() => expect(sum.ended).toBe(2))
  })

  test('waits for a slot in the order of the starts, and its requests fail at the limits of the queue', async () => {
    const policy = { defaultQueuePolicy: { maxQueueSize: 3 } }
    const sum = sumModel({ maxCandidateSequences: 2 }, { batching: policy })
    const served = await Served.start([sum.model])
    for (const id of ['a', 'b']) expect(await send(served, 1, { id, start: true })).toBe(1)
    const order: string[] = []
    const later = ['c', 'd', 'e'].map(async (id) => {
      await send(served, 1, { id, start: true, end: true })
      order.push(id)
    })
    const pending = async (): Promise<string> => (await served.send('GET', '/metrics')).body.toString()
    await eventually(async () => {
      expect(await pending()).toContain('nv_inference_pending_request_count{model="sum",version="1"} 3')
    })
    expect(await pending()).toContain('tenon_sequences{model="sum",version="1"} 5')
    expect(await send(served, 1, { id: 'f', start: true })).toContain('must have at most 3 requests')
    await send(served, 1, { id: 'a', end: true }).then((error) =>
      expect(error).toContain('must have at most 3 requests'),
    )
    expect(order).toEqual([])
    await served.server.closeAsync({ deadline: 100 })
    await Promise.allSettled(later)
  })

  test('whose start fails before it ran does not begin, and its next requests fail', async () => {
    const sum = sumModel({ maxCandidateSequences: 1 })
    const served = await Served.start([sum.model])
    expect(await send(served, 1, { id: 'a', start: true })).toBe(1)
    const request = { inputs: [input('x', 'INT32', [1], [1])] }
    const late = served.infer('sum', {
      ...request,
      parameters: { sequence_id: 'b', sequence_start: true, timeout: 200_000 },
    })
    const behind = send(served, 1, { id: 'b' })
    expect((await late)[0]).toBe(504)
    expect(await behind).toContain(notStarted('b'))
    expect(await send(served, 2, { id: 'a', end: true })).toBe(3)
    expect(await send(served, 1, { id: 'c', start: true, end: true })).toBe(1)
    expect([sum.made, sum.ended]).toEqual([2, 2])
  })

  test('whose run is left alone at its deadline ends, because its state is not known', async () => {
    let ended = 0
    const hang = defineModel({
      name: 'sum',
      signature,
      deadline: 100,
      sequence: { state: () => ({ [Symbol.dispose]: () => void ended++ }) },
      run: ({ x }, { sequence }) => (sequence.isStart ? x : new Promise<never>(() => {})),
    })
    const served = await Served.start([hang])
    expect(await send(served, 1, { id: 'a', start: true })).toBe(1)
    const late = send(served, 1, { id: 'a' })
    const behind = send(served, 1, { id: 'a' })
    expect(await late).toContain('did not answer within 100 ms')
    expect(await behind).toContain(notStarted('a'))
    expect(ended).toBe(0) // the function has not read it
  })

  test('goes on behind a request that the function fails', async () => {
    const fails = defineModel({
      name: 'sum',
      signature,
      sequence: { state: () => ({ count: 0 }) },
      run: ({ x }, { sequence: { state } }) => {
        state.count++
        if (numberOf(x) < 0) throw new RangeError('no')
        return tensor('s32', [1], [state.count])
      },
    })
    const served = await Served.start([fails])
    expect(await send(served, 1, { id: 'a', start: true })).toBe(1)
    expect(await send(served, -1, { id: 'a' })).toBe('the model sum failed')
    expect(await send(served, 1, { id: 'a' })).toBe(3)
  })

  test('whose state cannot be made fails its requests, and no others', async () => {
    const bad = defineModel({
      name: 'sum',
      signature,
      sequence: {
        state: ({ id }) => {
          if (id === 'bad') throw new RangeError('no')
          return id
        },
      },
      run: ({ x }, { sequence: { state } }) => (state === '' ? x : x),
    })
    const served = await Served.start([bad])
    expect(await send(served, 1, { id: 'bad', start: true })).toBe('the model sum failed')
    expect(await send(served, 1, { id: 'good', start: true })).toBe(1)
  })

  test('ends with the server, also when it has no end', async () => {
    const sum = sumModel()
    const served = await Served.start([sum.model])
    for (const id of ['a', 'b']) expect(await send(served, 1, { id, start: true })).toBe(1)
    await served.server.closeAsync()
    expect([sum.made, sum.ended]).toEqual([2, 2])
  })

  test('may have streams, which run one behind the other, and goes on behind one that its client left', async () => {
    const model = defineModel({
      name: 'chat',
      signature,
      sequence: { state: () => ({ said: [] as number[] }), maxSequenceIdleMicroseconds: 60_000_000 },
      run: async function* ({ x }, { sequence: { state } }) {
        for (let i = 0; i < numberOf(x); i++) {
          state.said.push(i)
          yield tensor('s32', [1], [state.said.length])
        }
      },
    })
    const served = await Served.start([model])
    const client = createClient<{ chat: typeof model }>(`http://${served.server.httpAddress}`)
    onTestFinished(() => client.closeAsync())
    const said: number[] = []
    for await (const { y } of client.stream('chat', { x: [2] }, { sequence: { id: 1n, start: true } })) {
      said.push(y.data[0]!)
    }
    for await (const { y } of client.stream('chat', { x: [1_000_000] }, { sequence: { id: 1n } })) {
      said.push(y.data[0]!)
      break
    }
    for await (const { y } of client.stream('chat', { x: [1] }, { sequence: { id: 1n, end: true } })) {
      said.push(y.data[0]!)
    }
    expect(said.slice(0, 3)).toEqual([1, 2, 3])
    expect(said).toHaveLength(4)
    expect(said[3]).toBeGreaterThan(3)
  })
})

test('the client and gRPC have sequences, also behind each other in one call', async () => {
  const sum = sumModel()
  const caller = await Caller.start([sum.model])
  const client = createClient<{ sum: typeof sum.model }>(`http://${caller.served.server.httpAddress}`)
  onTestFinished(() => client.closeAsync())
  const id = 2n ** 63n + 1n
  const infer = async (x: number, place: object): Promise<number> =>
    (await client.infer('sum', { x: [x] }, { sequence: { id, ...place } })).y.data[0]!
  expect(await infer(1, { start: true })).toBe(1)
  expect(await infer(2, {})).toBe(3)
  // Clients of gRPC send such a number as a negative one.
  const stream = new GrpcStream(caller)
  const write = (x: number, parameters: Record<string, object>): void =>
    stream.write({
      modelName: 'sum',
      id: `${x}`,
      parameters: Object.fromEntries(
        Object.entries(parameters).map(([name, parameterChoice]) => [name, { parameterChoice } as never]),
      ),
      inputs: [{ name: 'x', datatype: 'INT32', shape: [1n] }],
      rawInputContents: [new Uint8Array(Int32Array.of(x).buffer)],
    })
  const bool = (value: boolean): object => ({ case: 'boolParam', value })
  write(10, { sequence_id: { case: 'int64Param', value: BigInt.asIntN(64, id) } })
  write(1, { sequence_id: { case: 'stringParam', value: 'text' }, sequence_start: bool(true) })
  write(2, { sequence_id: { case: 'stringParam', value: 'text' }, sequence_end: bool(true) })
  write(3, { sequence_id: { case: 'stringParam', value: 'text' } })
  expect(await stream.end()).toBe(undefined)
  expect(stream.summary().map(([, value]) => value)).toEqual([13, 1, 3, expect.stringContaining(notStarted('text'))])
  expect(await infer(4, { end: true })).toBe(17)
  await expect(infer(5, {})).rejects.toMatchObject({ code: 'TENON_INVALID_REQUEST' })
})

describe('the options and the rules of sequences', () => {
  test('a request must have a sequence if and only if its model has sequences', async () => {
    const served = await Served.start([sumModel().model, double])
    for (const id of [undefined, 0, '']) {
      expect(await send(served, 1, { id })).toContain(
        "inference request to model 'sum' must specify a non-zero or non-empty correlation ID",
      )
    }
    expect(await send(served, 1, { start: true })).toContain('must be with a sequence_id')
    expect(await send(served, 1, { id: true })).toContain('parameters.sequence_id must be a whole number of 64 bits')
    expect(await send(served, 1, { id: 'a'.repeat(129) })).toContain('a text of at most 128 characters')
    expect(await send(served, 1, { id: 1, start: 1 })).toContain('parameters.sequence_start must be true or false')
    expect(await send(served, 1, { id: 1, end: 'a' })).toContain('parameters.sequence_end must be true or false')
    const [status, { error }] = await served.infer('double', {
      parameters: { sequence_id: 1 },
      inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])],
    })
    expect([status, error]).toEqual([
      400,
      'the parameter sequence_id must be absent, because the model double has no sequences',
    ])
  })

  test('defineModel() refuses options that contradict sequences', () => {
    const state = (): number => 0
    const define =
      (options: object): (() => unknown) =>
      () =>
        defineModel({ name: 'a', signature, run: ({ x }: { x: Tensor }) => x, ...options } as never)
    expect(define({ sequence: {} })).toThrow('sequence.state must be a function')
    expect(define({ sequence: { state, other: 1 } })).toThrow('sequence must not have the option "other"')
    for (const name of ['maxCandidateSequences', 'maxSequenceIdleMicroseconds']) {
      for (const value of [0, -1, 1.5, '1', 2 ** 60]) {
        expect(define({ sequence: { state, [name]: value } })).toThrow(`sequence.${name} must be a whole number from 1`)
      }
    }
    expect(define({ sequence: { state }, maxBatchSize: 4, signature: '(x: f32[b]) -> (y: f32[b])' })).toThrow(
      'must be without maxBatchSize',
    )
  })

  test('the configuration and the metadata have them in the words of Triton', async () => {
    const caller = await Caller.start([sumModel({ maxCandidateSequences: 9 }).model])
    const { config } = await caller.call(GRPCInferenceService.method.modelConfig, { name: 'sum' })
    expect(config?.schedulingChoice).toMatchObject({
      case: 'sequenceBatching',
      value: {
        maxSequenceIdleMicroseconds: 60_000_000n,
        strategyChoice: { case: 'oldest', value: { maxCandidateSequences: 9 } },
      },
    })
    const [, json] = await caller.served.get('/v2/models/sum/config')
    expect(json).toMatchObject({
      sequence_batching: { max_sequence_idle_microseconds: 60_000_000, oldest: { max_candidate_sequences: 9 } },
    })
    const [, { extensions }] = (await caller.served.get('/v2')) as [number, { extensions: string[] }]
    expect(extensions).toEqual(expect.arrayContaining(['sequence', 'sequence(string_id)']))
  })
})

import { eventually } from '@tenon/config/eventually'
import { tensor, type Tensor } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { dirname, join } from 'node:path'
import { Library } from 'tenon'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineModel, type BatchingOptions, type Model } from '../src/index.ts'
import { input, Served } from './support.ts'

/** A model whose runs end when the test says so, and what it was run with. */
class Held {
  readonly runs: { readonly rows: number; finish(): void }[] = []

  model(name: string, maxBatchSize: number, batching?: BatchingOptions, instances = 1): Model {
    return defineModel({
      name,
      signature: '(x: f32[rows, 2]) -> (y: f32[rows, 2])',
      maxBatchSize,
      instances,
      ...(batching === undefined ? {} : { batching }),
      run: ({ x }) =>
        new Promise<Tensor>((resolve) => {
          const y = tensor(
            'f32',
            x.shape,
            x.toArray().map((value) => value + 1),
          )
          this.runs.push({ rows: x.shape[0]!, finish: () => resolve(y) })
        }),
    })
  }

  /** Waits for the run of a number, and ends it. */
  async finish(index: number): Promise<number> {
    await eventually(() => expect(this.runs.length).toBeGreaterThan(index))
    this.runs[index]!.finish()
    return this.runs[index]!.rows
  }
}

const rows = (...values: number[]): object =>
  input(
    'x',
    'FP32',
    [values.length, 2],
    values.flatMap((value) => [value, value]),
  )

const data = ([, json]: [number, Record<string, unknown>]): unknown =>
  (json['outputs'] as { data: unknown }[] | undefined)?.[0]?.data ?? json['error']

const send = (served: Served, model: string, parameters: object, ...values: number[]) =>
  served.infer(model, { inputs: [rows(...values)], parameters })

const pending = async (served: Served, count: number): Promise<void> => {
  // The last request has arrived when the server has answered one behind it.
  for (let i = 0; i < 3 + count; i++) await served.get('/v2')
}

describe('dynamic batching', () => {
  test('requests that wait run as one, and each gets its own rows', async () => {
    const held = new Held()
    const served = await Served.start([held.model('m', 8)])
    const first = send(served, 'm', {}, 0)
    await eventually(() => expect(held.runs).toHaveLength(1))
    const others = [send(served, 'm', {}, 1), send(served, 'm', {}, 2, 3), send(served, 'm', {}, 4)]
    await pending(served, 3)
    expect(await held.finish(0)).toBe(1)
    expect(await held.finish(1)).toBe(4)
    expect(data(await first)).toEqual([1, 1])
    const answers = (await Promise.all(others)).map(data)
    expect(answers).toEqual([
      [2, 2],
      [3, 3, 4, 4],
      [5, 5],
    ])
    const [, json] = await served.get('/v2/models/m/stats')
    expect(json).toMatchObject({
      model_stats: [{ inference_count: 5, execution_count: 2, batch_stats: [{ batch_size: 1 }, { batch_size: 4 }] }],
    })
  })

  test('a request above maxBatchSize is refused, and the configuration lacks the first axis', async () => {
    const served = await Served.start([new Held().model('m', 2)])
    expect(await send(served, 'm', {}, 1, 2, 3)).toEqual([400, { error: 'a request must have at most 2 rows, got 3' }])
    expect((await served.get('/v2/models/m/config'))[1]).toMatchObject({
      max_batch_size: 2,
      input: [{ dims: [2] }],
      dynamic_batching: { max_queue_delay_microseconds: 0 },
    })
    expect((await served.get('/v2/models/m'))[1]).toMatchObject({ inputs: [{ shape: [-1, 2] }] })
  })

  test('inputs and outputs must have the same first axis', () => {
    for (const signature of [
      '(x: f32[a, b]) -> (y: f32[b, a])',
      '(x: f32[4]) -> (y: f32[4])',
      '(x: f32[]) -> (y: f32[])',
    ]) {
      expect(() => defineModel({ name: 'm', signature, maxBatchSize: 4, run: () => tensor([1]) })).toThrow(
        'the same first axis',
      )
    }
  })

  test('the highest priority runs first, and an unknown one is refused', async () => {
    const held = new Held()
    const served = await Served.start([held.model('m', 1, { priorityLevels: 3, defaultPriorityLevel: 2 })])
    const order: number[] = []
    const track = (priority: number, value: number) =>
      send(served, 'm', { priority }, value).then((answer) => order.push((data(answer) as number[])[0]! - 1))
    const all = [track(0, 0)]
    await eventually(() => expect(held.runs).toHaveLength(1))
    for (const [priority, value] of [
      [3, 1],
      [0, 2],
      [1, 3],
      [2, 4],
      [1, 5],
    ] as const) {
      all.push(track(priority, value))
      await pending(served, 1)
    }
    for (let i = 0; i < 6; i++) await held.finish(i)
    await Promise.all(all)
    expect(order).toEqual([0, 3, 5, 2, 4, 1])
    expect(await send(served, 'm', { priority: 4 }, 1)).toEqual([
      400,
      { error: 'the priority of a request must be at most 3, got 4' },
    ])
  })

  test('a request that waited too long is a 504, or runs last', async () => {
    for (const timeoutAction of ['reject', 'delay'] as const) {
      const held = new Held()
      const served = await Served.start([held.model('m', 1, { defaultQueuePolicy: { timeoutAction } })])
      const first = send(served, 'm', {}, 0)
      await eventually(() => expect(held.runs).toHaveLength(1))
      const late = send(served, 'm', { timeout: 20_000 }, 1)
      await pending(served, 1)
      const next = send(served, 'm', {}, 2)
      await new Promise((resolve) => setTimeout(resolve, 60))
      if (timeoutAction === 'reject') {
        expect(await late).toEqual([504, { error: 'the model m did not answer within 20 ms' }])
        const metrics = (await served.send('GET', '/metrics')).body.toString()
        expect(metrics).toContain('nv_inference_request_failure{model="m",version="1",reason="REJECTED"} 1')
        expect([await held.finish(0), await held.finish(1)]).toEqual([1, 1])
      } else {
        for (let i = 0; i < 3; i++) await held.finish(i)
        expect(data(await late)).toEqual([2, 2])
      }
      expect([data(await first), data(await next)]).toEqual([
        [1, 1],
        [3, 3],
      ])
    }
  })

  test('a request cannot lengthen the time of its model, or change it if the model forbids it', async () => {
    const held = new Held()
    const limited = { defaultQueuePolicy: { defaultTimeoutMicroseconds: 20_000 } }
    const fixed = { defaultQueuePolicy: { ...limited.defaultQueuePolicy, allowTimeoutOverride: false } }
    const served = await Served.start([held.model('limited', 1, limited), held.model('fixed', 1, fixed)])
    for (const [name, timeout] of [
      ['limited', 60_000_000],
      ['fixed', 60_000_000],
      ['fixed', 1],
    ] as const) {
      const count = held.runs.length
      const first = send(served, name, {}, 0)
      await eventually(() => expect(held.runs).toHaveLength(count + 1))
      expect(await send(served, name, { timeout }, 1)).toEqual([
        504,
        { error: `the model ${name} did not answer within 20 ms` },
      ])
      await held.finish(count)
      await first
    }
  })

  test('a full queue is a 503 with Retry-After', async () => {
    const held = new Held()
    const served = await Served.start([held.model('m', 1, { defaultQueuePolicy: { maxQueueSize: 1 } })])
    const waiting = [send(served, 'm', {}, 0)]
    await eventually(() => expect(held.runs).toHaveLength(1))
    waiting.push(send(served, 'm', {}, 1))
    await pending(served, 1)
    const body = JSON.stringify({ inputs: [rows(2)] })
    const { status, headers } = await served.send('POST', '/v2/models/m/infer', body)
    expect([status, headers['retry-after']]).toEqual([503, '1'])
    for (let i = 0; i < 2; i++) await held.finish(i)
    expect((await Promise.all(waiting)).map(data)).toEqual([
      [1, 1],
      [2, 2],
    ])
  })

  test('a request that waited too long and runs last still counts for its queue', async () => {
    const held = new Held()
    const policy = { timeoutAction: 'delay', defaultTimeoutMicroseconds: 1000, maxQueueSize: 2 } as const
    const served = await Served.start([held.model('m', 1, { defaultQueuePolicy: policy })])
    const waiting = [send(served, 'm', {}, 0)]
    await eventually(() => expect(held.runs).toHaveLength(1))
    for (const value of [1, 2]) {
      waiting.push(send(served, 'm', {}, value))
      await pending(served, 1)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect((await send(served, 'm', {}, 3))[0]).toBe(503)
    expect([await held.finish(0), await held.finish(1)]).toEqual([1, 1])
    // There is room again.
    await eventually(() => expect(held.runs).toHaveLength(3))
    waiting.push(send(served, 'm', {}, 4))
    for (const index of [2, 3]) await held.finish(index)
    expect((await Promise.all(waiting)).map(data)).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [5, 5],
    ])
  })

  test('a client that leaves does not wait for the answers before its own', async () => {
    const held = new Held()
    const served = await Served.start([held.model('m', 1, { preserveOrdering: true }, 2)])
    const first = send(served, 'm', {}, 0)
    await eventually(() => expect(held.runs).toHaveLength(1))
    const inFlight = async (): Promise<string> =>
      /^tenon_in_flight_bytes (\d+)$/m.exec((await served.send('GET', '/metrics')).body.toString())![1]!
    const alone = await inFlight()
    const abort = new AbortController()
    const url = `http://127.0.0.1:${served.server.port}/v2/models/m/infer`
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 1] }] })
    const left = fetch(url, { method: 'POST', body, signal: abort.signal }).catch(() => 'left')
    await eventually(() => expect(held.runs).toHaveLength(2))
    abort.abort()
    expect(await left).toBe('left')
    await eventually(async () => expect(await inFlight()).toBe(alone))
    await held.finish(1)
    // The next one still waits for the first one.
    let isAnswered = false
    const next = send(served, 'm', {}, 2).finally(() => (isAnswered = true))
    await held.finish(2)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isAnswered).toBe(false)
    await held.finish(0)
    expect([await first, await next].map(([status]) => status)).toEqual([200, 200])
  })

  test('answers keep the order of their requests if the model wants it', async () => {
    const held = new Held()
    const served = await Served.start([held.model('m', 1, { preserveOrdering: true }, 2)])
    const order: number[] = []
    const all = [0, 1].map(async (value) => {
      await new Promise((resolve) => setTimeout(resolve, 30 * value))
      order.push((data(await send(served, 'm', {}, value)) as number[])[0]! - 1)
    })
    await held.finish(1)
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(order).toEqual([])
    await held.finish(0)
    await Promise.all(all)
    expect(order).toEqual([0, 1])
  })

  test('when a batch loses its process, each request runs once more on its own', async () => {
    const library = await Library.isolate(join(dirname(coreLibrary().path), 'libfaulty.so'), {
      restart: { limit: 1000, window: 1000, backoff: 1 },
    })
    onTestFinished(() => library.closeAsync())
    const base = defineModel({
      name: 'm',
      kernel: library.kernel('faulty_original'),
      signature: '(fault: s32[n], x: f32[m]) -> (y: f32[m])',
      memory: library.memory,
    })
    // The kernel's first operand says what it does, so one request of a batch can be the poisonous one.
    let calls = 0
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    const model = defineModel({
      name: 'm',
      signature: '(fault: s32[rows], x: f32[rows, 16]) -> (y: f32[rows, 16])',
      maxBatchSize: 8,
      run: async ({ fault, x }, context) => {
        if (++calls === 1) await opened
        const outputs: number[] = []
        for (let i = 0; i < fault.shape[0]!; i++) {
          const [y] = await base.run([fault.slice([i, i + 1]), x.slice(i)], context, undefined)
          outputs.push(...(y as Tensor<'float32'>).toArray())
        }
        return tensor('f32', x.shape, outputs)
      },
    })
    const served = await Served.start([model])
    const request = (fault: number, value: number) => ({
      inputs: [
        input('fault', 'INT32', [1], [fault]),
        input(
          'x',
          'FP32',
          [1, 16],
          Array.from({ length: 16 }, () => value),
        ),
      ],
    })
    const slow = served.infer('m', request(0, 1))
    await eventually(() => expect(calls).toBe(1))
    const others = [0, 1, 0, 0].map((fault, i) => served.infer('m', request(fault, i + 2)))
    await pending(served, 4)
    open()
    const answers = await Promise.all([slow, ...others])
    expect(answers.map(([status]) => status)).toEqual([200, 200, 500, 200, 200])
    expect((data(answers[4]!) as number[])[0]).toBe(10)
    expect(calls).toBe(1 + 1 + 4)
  })
})

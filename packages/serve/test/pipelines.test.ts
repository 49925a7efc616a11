import { eventually } from '@tenon/config/eventually'
import { kernelLibrary } from '@tenon/kernels'
import { tensor, type Tensor } from 'tenon'
import { StringTensor } from 'tenon/tstring'
import { describe, expect, test } from 'vitest'
import { defineModel, definePipeline, type Model } from '../src/index.ts'
import { libfaulty } from './make-repository.ts'
import { heldModel } from './models.ts'
import { chain, isolate, kernel, one, request, signature, sum, ten } from './pipeline-models.ts'
import { input, Served } from './support.ts'

/** (x + 1) + (x + 10) */
const diamond = definePipeline({
  name: 'diamond',
  signature: '(x: f32[n]) -> (z: f32[n])',
  steps: [
    { model: sum, inputs: { a: 'left', b: 'right' }, outputs: { sum: 'z' } },
    { model: one, inputs: { x: 'x' }, outputs: { y: 'left' } },
    { model: ten, inputs: { x: 'x' }, outputs: { y: 'right' } },
  ],
})

describe('a pipeline', () => {
  test('answers as one model, with outputs of its last steps and those in between', async () => {
    const both = definePipeline({
      name: 'both',
      version: '7',
      signature: '(x: f32[n]) -> (z: f32[n], left: f32[n])',
      steps: [
        { model: 'one', inputs: { x: 'x' }, outputs: { y: 'left' } },
        { model: 'diamond', inputs: { x: 'left' }, outputs: { z: 'z' } },
      ],
    })
    const served = await Served.start([both, diamond, one, ten, sum])
    expect(await served.infer('diamond', request(1, 2))).toEqual([
      200,
      {
        model_name: 'diamond',
        model_version: '1',
        outputs: [{ name: 'z', datatype: 'FP32', shape: [2], data: [13, 15] }],
      },
    ])
    expect(await served.infer('both', request(1))).toMatchObject([
      200,
      {
        model_version: '7',
        outputs: [
          { name: 'z', data: [15] },
          { name: 'left', data: [2] },
        ],
      },
    ])
    const chosen = await served.infer('both', { ...request(1), outputs: [{ name: 'left' }] })
    expect(chosen).toMatchObject([200, { outputs: [{ name: 'left', data: [2] }] }])
  })

  test('says what it is in its metadata, its configuration and its statistics', async () => {
    const served = await Served.start([diamond, one, ten, sum])
    await served.infer('diamond', request(1))
    await served.infer('diamond', request(1))
    expect(await served.get('/v2/models/diamond')).toMatchObject([200, { platform: 'ensemble' }])
    const [, config] = await served.get('/v2/models/diamond/config')
    expect(config).toMatchObject({
      platform: 'ensemble',
      ensemble_scheduling: {
        step: [
          { model_name: 'sum', model_version: -1, input_map: { a: 'left', b: 'right' }, output_map: { sum: 'z' } },
          { model_name: 'one', model_version: -1, input_map: { x: 'x' }, output_map: { y: 'left' } },
          { model_name: 'ten' },
        ],
      },
    })
    expect(config).not.toHaveProperty('instance_group')
    const [, stats] = await served.get('/v2/models/stats')
    const byName = Object.fromEntries(
      (stats as { model_stats: { name: string }[] }).model_stats.map((each) => [each.name, each]),
    )
    expect(byName['diamond']).toMatchObject({
      inference_count: 2,
      execution_count: 2,
      step_stats: [
        { step: 1, model_name: 'sum', success: { count: 2 }, fail: { count: 0 }, queue: { count: 2 } },
        { step: 2, model_name: 'one', success: { count: 2 } },
        { step: 3, model_name: 'ten', success: { count: 2 } },
      ],
    })
    for (const name of ['one', 'ten', 'sum']) expect(byName[name]).toMatchObject({ inference_count: 2 })
    const { body } = await served.send('GET', '/metrics')
    expect(body.toString()).toContain('tenon_request_seconds_count{model="one",version="1"} 2\n')
  })

  test('runs steps at the same time that do not need each other', async () => {
    const [a, b] = [heldModel(), heldModel()]
    const named = (name: string, { model }: { model: Model }): Model =>
      defineModel({
        name,
        signature,
        run: (inputs, context) =>
          (model.run([inputs['x']!], context, undefined) as Promise<Tensor[]>).then(([y]) => y!),
      })
    const pipeline = definePipeline({
      name: 'parallel',
      signature: '(x: f32[n]) -> (z: f32[n])',
      steps: [
        { model: 'a', inputs: { x: 'x' }, outputs: { y: 'left' } },
        { model: 'b', inputs: { x: 'x' }, outputs: { y: 'right' } },
        { model: 'sum', inputs: { a: 'left', b: 'right' }, outputs: { sum: 'z' } },
      ],
    })
    const served = await Served.start([pipeline, named('a', a), named('b', b), sum])
    const answer = served.infer('parallel', request(1))
    // Both begin before one of them ends.
    await Promise.all([a.begun, b.begun])
    b.finish()
    a.finish()
    expect(await answer).toMatchObject([200, { outputs: [{ data: [2] }] }])
  })

  test('passes parameters and texts on, and lets steps become parts of batches', async () => {
    const rows: number[] = []
    const batched = defineModel({
      name: 'batched',
      signature: '(x: f32[rows, 2]) -> (y: f32[rows, 2])',
      maxBatchSize: 8,
      batching: { maxQueueDelayMicroseconds: 50_000 },
      run: ({ x }, { parameters }) => {
        rows.push(x.shape[0]!)
        return tensor('f32', x.shape, x.toArray().map((value) => value * Number(parameters['by']))) // prettier-ignore
      },
    })
    const upper = defineModel({
      name: 'upper',
      signature: '(text: string[n]) -> (upper: string[n])',
      run: ({ text }) => StringTensor.from(text.toArray().map((each) => each.toUpperCase())),
    })
    const pipeline = definePipeline({
      name: 'p',
      signature: '(x: f32[rows, 2], text: string[n]) -> (y: f32[rows, 2], loud: string[n])',
      steps: [
        { model: batched, inputs: { x: 'x' }, outputs: { y: 'y' } },
        { model: upper, inputs: { text: 'text' }, outputs: { upper: 'loud' } },
      ],
    })
    const served = await Served.start([pipeline, batched, upper])
    const answers = await Promise.all(
      [1, 2, 3, 4].map((value) =>
        served.infer('p', {
          inputs: [input('x', 'FP32', [1, 2], [value, 0]), input('text', 'BYTES', [1], [`t${value}`])],
          parameters: { by: 10 },
        }),
      ),
    )
    expect(answers).toMatchObject(
      [1, 2, 3, 4].map((value) => [200, { outputs: [{ data: [10 * value, 0] }, { data: [`T${value}`] }] }]),
    )
    expect(rows.reduce((a, b) => a + b)).toBe(4)
    expect(rows.length).toBeLessThan(4)
  })
})

describe('the tensors of a pipeline of kernels', () => {
  test('go from library to library without a copy, and their memory is free after the last step that needs it', async () => {
    const [first, second] = [await isolate(libfaulty), await isolate(libfaulty)]
    const used: number[][] = []
    const note = (): void => void used.push([first.memory.usage.usedBytes, second.memory.usage.usedBytes])
    const look = defineModel({
      name: 'look',
      signature: '(x: f32[n]) -> (seen: s64[1])',
      run: ({ x }) => {
        note()
        return tensor('s64', [1], [BigInt(x.address)])
      },
    })
    const length = 1 << 16
    const bytes = 4 * length
    const pipeline = definePipeline({
      name: 'p',
      signature: '(x: f32[n]) -> (seen: s64[1], late: s64[1])',
      steps: [
        { model: 'a', inputs: { x: 'x' }, outputs: { y: 't1' } },
        { model: 'b', inputs: { x: 't1' }, outputs: { y: 't2' } },
        { model: 'a', inputs: { x: 't2' }, outputs: { y: 't3' } },
        { model: 'b', inputs: { x: 't3' }, outputs: { y: 't4' } },
        { model: 'look', inputs: { x: 't4' }, outputs: { seen: 'seen' } },
        { model: 'look', inputs: { x: 't2' }, outputs: { seen: 'late' } },
      ],
    })
    const plain = chain(['a', 'b', 'a', 'b'])
    const served = await Served.start([pipeline, plain, kernel(first, 'a'), kernel(second, 'b'), look])
    const values = new Float32Array(length).fill(1)
    const binary = { name: 'x', datatype: 'FP32', shape: [length], parameters: { binary_data_size: bytes } }
    const infer = (name: string) =>
      served.inferBinary(name, { inputs: [binary], parameters: { binary_data_output: true } }, [
        new Uint8Array(values.buffer),
      ])
    await infer('chain')
    const idle = [first.memory.usage.usedBytes, second.memory.usage.usedBytes]
    expect((await infer('p')).status).toBe(200)
    const { body } = await infer('chain')
    expect(new Float32Array(body.buffer.slice(body.byteOffset + body.length - 4))[0]).toBe(16)
    expect([first.metrics().copiedBytes, second.metrics().copiedBytes]).toEqual([0, 0])
    // The first look has the request's x, and t2, which the second look needs; t1 and t3 are free.
    const extra = used.map(([a, b]) => [a! - idle[0]!, b! - idle[1]!])
    for (const [a, b] of extra) {
      expect(a).toBeLessThan(2 * bytes)
      expect(b).toBeLessThan(3 * bytes)
    }
    await eventually(() => expect([first.memory.usage.usedBytes, second.memory.usage.usedBytes]).toEqual(idle))
  })

  test('are the same memory in the next step, also for a function that returns its input', async () => {
    const library = await isolate(libfaulty)
    const addresses: (number | bigint)[] = []
    const pass = defineModel({
      name: 'pass',
      signature,
      run: ({ x }) => {
        addresses.push(x.address)
        return x
      },
    })
    const served = await Served.start([
      chain(['double', 'pass', 'pass', 'double', 'pass']),
      pass,
      kernel(library, 'double'),
    ])
    for (let i = 0; i < 3; i++) {
      expect(await served.infer('chain', request(1, 2))).toMatchObject([200, { outputs: [{ data: [4, 8] }] }])
    }
    expect(addresses[0]).toBe(addresses[1])
    expect(library.metrics().copiedBytes).toBe(0)
  })
})

test('a kernel of another package of kernels is a step, too', async () => {
  const [softmax, double] = [await isolate(kernelLibrary('kernels')), await isolate(libfaulty)]
  const model = defineModel({
    name: 'softmax',
    kernel: softmax.kernel('softmax'),
    signature: '(x: f32[columns]) -> (y: f32[columns])',
    memory: softmax.memory,
  })
  const served = await Served.start([chain(['double', 'softmax']), model, kernel(double, 'double')])
  expect(await served.infer('chain', request(0, 0))).toMatchObject([200, { outputs: [{ data: [0.5, 0.5] }] }])
  expect([softmax.metrics().copiedBytes, double.metrics().copiedBytes]).toEqual([0, 0])
})

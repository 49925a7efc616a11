import { eventually } from '@tenon/config/eventually'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tensor } from 'tenon'
import { describe, expect, test } from 'vitest'
import { defineModel, definePipeline, ModelRepository, type Model } from '../src/index.ts'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { Caller } from './caller.ts'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { heldModel } from './models.ts'
import { input, Served } from './support.ts'

const signature = '(x: f32[n]) -> (y: f32[n])'
const same = (name: string, text: string = signature): Model =>
  defineModel({ name, signature: text, run: (inputs) => Object.values(inputs)[0]! })

const define = (steps: unknown, others: object = {}): Model =>
  definePipeline({ name: 'p', signature, steps, ...others } as never)

const step = (model: unknown, inputs: object, outputs: object, others: object = {}) => ({
  model,
  inputs,
  outputs,
  ...others,
})

const through = [step('same', { x: 'x' }, { y: 'y' })]
const request = { inputs: [input('x', 'FP32', [2], [1, 2])] }

describe('definePipeline()', () => {
  test('refuses what is not a pipeline, with the step and the tensor', () => {
    const x = { x: 'x' }
    const y = { y: 'y' }
    for (const [steps, text] of [
      [undefined, 'steps must be an array with a step or more'],
      [[], 'steps must be an array with a step or more'],
      [[undefined], 'steps[0] must be a step'],
      [[null], 'steps[0] must be an object'],
      [[step(7, x, y)], 'steps[0].model must be a string'],
      [[step('', x, y)], 'steps[0].model must be a string'],
      [[step('same', x, y, { models: 1 })], 'steps[0] must not have the option "models"'],
      [[step('same', x, y, { version: 1 })], 'version must be a text of decimal digits'],
      [[step('same', [], y)], 'steps[0].inputs must be an object of tensors'],
      [[step('same', x, {})], 'steps[0].outputs must be an object with an output or more'],
      [[step('same', x, { y: 7 })], 'steps[0].outputs.y must be a string'],
      [[step('same', { x: 'z' }, y)], 'step 1 (same) must have inputs that are made, got "z" in the pipeline p'],
      [[step('same', x, { y: 'z' })], 'the output "y" must be made by a step in the pipeline p'],
      [[step('same', x, { y: 'x' })], 'the tensor "x" must be made once, got a second origin in the pipeline p'],
      [[...through, ...through], 'the tensor "y" must be made once'],
      [[...through, step('other', x, { y: 'z' })], 'the tensor "z" must be an output of the pipeline'],
      [[step('two', { a: 'x', b: 'y' }, y)], "the steps must not need each other's outputs, got step 1 (two)"],
      [
        [step('a', { x: 'c' }, { y: 'b' }), step('b', { x: 'b' }, { y: 'c' }), step('s', { x: 'x' }, y)],
        "the steps must not need each other's outputs, got step 1 (a), step 2 (b) in the pipeline p",
      ],
      [[step('same', { x: '__proto__' }, y)], 'got "__proto__"'],
    ] as const) {
      expect(() => define(steps)).toThrow(text)
    }
    for (const [others, text] of [
      [{ name: 'a/b' }, 'without a slash'],
      [{ version: '1.0' }, 'version must be a text of decimal digits'],
      [{ deadline: 0 }, 'deadline must be a number of milliseconds above 0'],
      [{ signature: 7 }, 'signature must be a string'],
      [{ signature: '(x: f32[n]) -> (y: f32[n]); eps: f32 = 1' }, 'must have no attributes'],
      [{ signature: '(x: f32[n], unused: f32[n]) -> (y: f32[n])' }, 'the tensor "unused" must be an output'],
      [{ signature: '(x: f32[n]) -> (x: f32[n])' }, 'x is the name of two parameters'],
      [{ instances: 2 }, 'options must not have the option "instances"'],
    ] as const) {
      expect(() => define(through, others)).toThrow(text)
    }
  })

  test('takes names such as __proto__, and 10,000 steps, of functions that return at once', async () => {
    const names: object = JSON.parse('{"__proto__":"constructor","toString":"hasOwnProperty"}')
    const odd = defineModel({
      name: 'odd',
      signature: '(__proto__: f32[n], toString: f32[n]) -> (constructor: f32[n])',
      run: (inputs) => Object.getOwnPropertyDescriptor(inputs, 'toString')!.value as never,
    })
    const pipeline = definePipeline({
      name: '__proto__',
      signature: '(constructor: f32[n], hasOwnProperty: f32[n]) -> (valueOf: f32[n])',
      steps: [step('odd', names, { constructor: 'valueOf' })],
    } as never)
    const many = define(
      Array.from({ length: 10_000 }, (_, i) =>
        step('same', { x: i === 0 ? 'x' : `t${i}` }, { y: i === 9999 ? 'y' : `t${i + 1}` }),
      ).toReversed(),
      { name: 'many' },
    )
    const served = await Served.start([pipeline, odd, many, same('same')])
    const inputs = ['constructor', 'hasOwnProperty'].map((name, i) => input(name, 'FP32', [1], [i]))
    expect(await served.infer('__proto__', { inputs })).toMatchObject([
      200,
      { outputs: [{ name: 'valueOf', data: [1] }] },
    ])
    expect(await served.infer('many', request)).toMatchObject([200, { outputs: [{ data: [1, 2] }] }])
    expect((await served.get('/v2/models/many/ready'))[0]).toBe(200)
  })
})

describe('a pipeline that does not fit its models', () => {
  test('is refused when the server starts, with the step and what is wrong', async () => {
    const stream = defineModel({
      name: 'stream',
      signature,
      run: async function* ({ x }) {
        yield x
      },
    })
    const models = [
      same('same'),
      same('ints', '(x: s32[n]) -> (y: s32[n])'),
      same('texts', '(x: string[n]) -> (y: string[n])'),
      same('bytes', '(x: u8[n]) -> (y: u8[n])'),
      same('matrix', '(x: f32[n, 4]) -> (y: f32[n, 4])'),
      same('four', '(x: f32[4]) -> (y: f32[4])'),
      same('five', '(x: f32[5]) -> (y: f32[5])'),
      same('two', '(a: f32[n], b: f32[n]) -> (y: f32[n])'),
      stream,
      defineModel({ name: 'sequence', signature, sequence: { state: () => undefined }, run: ({ x }) => x }),
    ]
    const pair = (a: string, b: string) => [step(a, { x: 'x' }, { y: 't' }), step(b, { x: 't' }, { y: 'y' })]
    for (const [steps, text] of [
      [[step('none', { x: 'x' }, { y: 'y' })], 'the pipeline p needs the model none, which does not exist'],
      [
        [step('same', { x: 'x' }, { y: 'y' }, { version: '2' })],
        'needs the model same in version 2, which does not exist',
      ],
      [[step('same', { z: 'x' }, { y: 'y' })], 'step 1 of the pipeline p must have inputs of its model, got "z"'],
      [[step('same', { x: 'x' }, { z: 'y' })], 'step 1 of the pipeline p must have outputs of its model, got "z"'],
      [[step('two', { a: 'x' }, { y: 'y' })], 'must have all inputs of its model, but lacks b'],
      [
        [step('sequence', { x: 'x' }, { y: 'y' })],
        'step 1 of the pipeline p must not be the model sequence, which has sequences\nHint: Leave it out, and let clients send',
      ],
      [
        [step('stream', { x: 'x' }, { y: 'y' })],
        'step 1 of the pipeline p must not be the model stream, which answers with streams\nHint: Leave it out, and let clients',
      ],
      [
        pair('same', 'ints'),
        'the tensor t of the pipeline p must be int32[?] for step 2 (ints), but step 1 (same) makes float32[?]',
      ],
      [pair('same', 'texts'), 'must be string[?] for step 2 (texts)'],
      [pair('same', 'matrix'), 'must be float32[?, 4] for step 2 (matrix), but step 1 (same) makes float32[?]'],
      [pair('four', 'five'), 'must be float32[5] for step 2 (five), but step 1 (four) makes float32[4]'],
      [
        [step('ints', { x: 'x' }, { y: 'y' })],
        'must be int32[?] for step 1 (ints), but the pipeline p makes float32[?]',
      ],
      [[step('p', { x: 'x' }, { y: 'y' })], 'the pipeline p must not be a step of itself'],
    ] as const) {
      await expect(Served.start([define(steps), ...models])).rejects.toThrow(`failed to load 'p': `)
      await expect(Served.start([define(steps), ...models])).rejects.toThrow(text)
    }
    await expect(Served.start([define([step('none', { x: 'x' }, { y: 'y' })])])).rejects.toThrow(
      'Add the model, or correct step 1 of the pipeline.',
    )
    const loop = [
      define([step('q', { x: 'x' }, { y: 'y' })]),
      define([step('p', { x: 'x' }, { y: 'y' })], { name: 'q' }),
    ]
    await expect(Served.start(loop)).rejects.toThrow('the pipeline p must not be a step of itself')
    await Served.start([define(pair('same', 'four')), ...models])
    expect(() => define([step('same', { x: 'x' }, { y: 'y' })], { warmUp: [] })).toThrow('"warmUp"')
  })

  test('is an error of requests whose tensors do not fit', async () => {
    const pair = [step('same', { x: 'x' }, { y: 't' }), step('four', { x: 't' }, { y: 'y' })]
    const served = await Served.start([define(pair), same('same'), same('four', '(x: f32[4]) -> (y: f32[4])')])
    const [status, { error }] = await served.infer('p', request)
    expect([status, error]).toEqual([
      400,
      expect.stringContaining('step 2 (four) of the pipeline p: x of four must be'),
    ])
    const four = { inputs: [input('x', 'FP32', [4], [1, 2, 3, 4])] }
    expect(await served.infer('p', four)).toMatchObject([200, {}])
  })
})

const library = { copy: libfaulty }
const chain = { signature, steps: [step('b', { x: 'x' }, { y: 't' }), step('z', { x: 't' }, { y: 'y' })] }
const files = {
  'a/pipeline.json': chain,
  'b/model.json': faulty(0),
  'b/1/libfaulty.so': library,
  'z/model.json': faulty(0),
  'z/1/libfaulty.so': library,
}
const start = (directory: string, others: object = {}): Promise<Served> =>
  Served.start([], { repository: ModelRepository.open(directory), ...others })

describe('pipeline.json', () => {
  test('is a model of a repository, which is loaded after the models of its steps', async () => {
    const served = await start(makeRepository(files))
    expect(await served.infer('a', request)).toMatchObject([200, { outputs: [{ data: [4, 8] }] }])
    const caller = await Caller.start([], { repository: ModelRepository.open(makeRepository(files)) })
    const { config } = await caller.call(GRPCInferenceService.method.modelConfig, { name: 'a' })
    expect(config).toMatchObject({
      platform: 'ensemble',
      instanceGroup: [],
      schedulingChoice: {
        case: 'ensembleScheduling',
        value: {
          step: [
            { modelName: 'b', modelVersion: -1n, inputMap: { x: 'x' }, outputMap: { y: 't' } },
            { modelName: 'z', modelVersion: -1n, inputMap: { x: 't' }, outputMap: { y: 'y' } },
          ],
        },
      },
    })
    expect(await caller.call(GRPCInferenceService.method.modelMetadata, { name: 'a' })).toMatchObject({
      platform: 'ensemble',
    })
  })

  test('is refused with the file and what is wrong, and leaves nothing open', async () => {
    for (const [changed, text] of [
      [{ 'a/pipeline.json': '{' }, 'pipeline.json: '],
      [{ 'a/pipeline.json': '[]' }, 'the pipeline must be a JSON object'],
      [{ 'a/pipeline.json': { ...chain, name: 'x' } }, 'the pipeline must not have a name'],
      [{ 'a/pipeline.json': { ...chain, kernel: 'x' } }, 'must not have the option "kernel"'],
      [{ 'a/pipeline.json': { steps: chain.steps } }, 'signature must be a string'],
      [{ 'a/pipeline.json': '{"__proto__": {}}' }, 'must not have the option "__proto__"'],
      [
        { 'z/model.json': faulty(0, { deadline: 'x' }) },
        "failed to load 'a': the model z of a step cannot be loaded: ",
      ],
      [{ 'z/model.json': faulty(0, { signature: '(x: f32[n, m]) -> (y: f32[n, m])' }) }, "failed to load 'a': "],
      [
        { 'a/pipeline.json': { signature, steps: [step('a', { x: 'x' }, { y: 'y' })] } },
        "failed to load 'a': it must not be a step of itself",
      ],
      [
        { 'z/model.json': undefined, 'z/pipeline.json': { signature, steps: [step('a', { x: 'x' }, { y: 'y' })] } },
        "failed to load 'z': it must not be a step of itself",
      ],
    ] as const) {
      const all = Object.fromEntries(
        Object.entries({ ...files, ...changed }).filter(([, content]) => content !== undefined),
      )
      const error: Error = await start(makeRepository(all as typeof files)).then(
        () => expect.fail('started'),
        (reason: Error) => reason,
      )
      expect(error.name).toBe('ModelLoadError')
      expect(error.message).toContain(text)
    }
  })

  test('is loaded with its models, unavailable without one of them, and available again with it', async () => {
    const served = await start(makeRepository(files), { modelControl: 'explicit' })
    const change = (name: string, what: string) => served.post(`/v2/repository/models/${name}/${what}`, {})
    const states = async (): Promise<object> => {
      const [, index] = await served.post('/v2/repository/index', {})
      return Object.fromEntries(
        (index as { name: string; state: string; reason: string }[]).map(({ name, state }) => [name, state]),
      )
    }
    expect(await change('a', 'load')).toEqual([200, undefined])
    expect(await states()).toEqual({ a: 'READY', b: 'READY', z: 'READY' })
    expect(await served.infer('a', request)).toMatchObject([200, {}])

    expect(await change('z', 'unload')).toEqual([200, undefined])
    expect(await states()).toEqual({ a: 'UNAVAILABLE', b: 'READY', z: 'UNAVAILABLE' })
    const [, index] = await served.post('/v2/repository/index', {})
    expect(index).toContainEqual({
      name: 'a',
      version: '1',
      state: 'UNAVAILABLE',
      reason: 'the pipeline a needs the model z, which is not loaded',
    })
    expect(await served.infer('a', request)).toEqual([
      503,
      { error: 'the pipeline a needs the model z, which is not loaded. Load it, or send the request again later.' },
    ])
    expect((await served.get('/v2/models/a/ready'))[0]).toBe(503)
    expect(await served.get('/v2/health/ready')).toMatchObject([200, {}])

    await change('z', 'load')
    expect(await served.infer('a', request)).toMatchObject([200, {}])
    expect((await served.get('/v2/models/a/ready'))[0]).toBe(200)
    // Unloading a pipeline leaves its models.
    await change('a', 'unload')
    expect(await states()).toEqual({ a: 'UNAVAILABLE', b: 'READY', z: 'READY' })
  })

  test('is unavailable when a model that is loaded again does not fit any more', async () => {
    const directory = makeRepository(files)
    const served = await start(directory, { modelControl: 'explicit' })
    const load = (name: string) => served.post(`/v2/repository/models/${name}/load`, {})
    await load('a')
    rmSync(join(directory, 'z/model.json'))
    const module = join(import.meta.dirname, '../src/index.ts')
    writeFileSync(
      join(directory, 'z/model.ts'),
      `import { defineModel } from ${JSON.stringify(module)}
      export default defineModel({ name: 'z', signature: '(other: f32[n]) -> (y: f32[n])', run: ({ other }) => other })`,
    )
    expect(await load('z')).toEqual([200, undefined])
    expect(await served.infer('a', request)).toEqual([
      503,
      { error: expect.stringContaining('step 2 of the pipeline a must have inputs of its model, got "x"') },
    ])
    const [status, { error }] = (await load('a')) as [number, { error: string }]
    expect([status, error]).toEqual([500, expect.stringContaining("failed to load 'a': step 2 of the pipeline a")])

    // A model that becomes a pipeline of the pipeline that uses it is a cycle.
    rmSync(join(directory, 'z/model.ts'))
    writeFileSync(
      join(directory, 'z/pipeline.json'),
      JSON.stringify({ signature, steps: [step('a', { x: 'x' }, { y: 'y' })] }),
    )
    expect(await load('z')).toEqual([500, { error: expect.stringContaining("failed to load 'z'") }])
  })

  test('finishes requests with the models with which they began, when one of these is unloaded', async () => {
    const held = heldModel()
    const pipeline = define([step('slow', { x: 'x' }, { y: 't' }), step('b', { x: 't' }, { y: 'y' })])
    const served = await Served.start([pipeline, held.model], {
      repository: ModelRepository.open(makeRepository({ 'b/model.json': faulty(0), 'b/1/libfaulty.so': library })),
      modelControl: 'explicit',
    })
    expect(await served.infer('p', request)).toMatchObject([503, {}])
    await served.post('/v2/repository/models/b/load', {})
    const answer = served.infer('p', request)
    await held.begun
    const unloaded: unknown[] = []
    const unloading = served.post('/v2/repository/models/b/unload', {}).then((reply) => unloaded.push(reply))
    await eventually(async () => {
      const [, index] = await served.post('/v2/repository/index', {})
      expect(index).toContainEqual(expect.objectContaining({ name: 'b', state: 'UNLOADING' }))
    })
    expect(await served.infer('p', request)).toMatchObject([503, {}])
    expect(unloaded).toEqual([])
    held.finish()
    expect(await answer).toMatchObject([200, { outputs: [{ data: [2, 4] }] }])
    await unloading
    expect(unloaded).toEqual([[200, undefined]])
  })

  test('distributes the requests of a step among the versions of its model, or names one', async () => {
    const versions = ['1', '2'].map((no) =>
      defineModel({
        name: 'm',
        version: no,
        signature: '(x: f32[n]) -> (y: f32[n], version: s64[1])',
        run: ({ x }) => ({ y: x, version: tensor('s64', [1], [BigInt(no)]) }),
      }),
    )
    const any = definePipeline({
      name: 'any',
      signature: '(x: f32[n]) -> (version: s64[1])',
      steps: [step('m', { x: 'x' }, { version: 'version' })],
    } as never)
    const first = definePipeline({
      name: 'first',
      signature: '(x: f32[n]) -> (version: s64[1])',
      steps: [step('m', { x: 'x' }, { version: 'version' }, { version: '1' })],
    } as never)
    const served = await Served.start([any, first, ...versions])
    served.server.setTraffic('m', { 1: 1, 2: 1 })
    const infer = async (name: string): Promise<unknown> => {
      const [, { outputs }] = await served.infer(name, request)
      return (outputs as { data: unknown[] }[])[0]?.data[0]
    }
    expect([await infer('any'), await infer('any'), await infer('any'), await infer('first')]).toEqual([1, 2, 1, 1])
  })
})

import { eventually } from '@tenon/config/eventually'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Library, tensor, writeNpy } from 'tenon'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createServer,
  defineModel,
  ModelLoadError,
  ModelRepository,
  type Model,
  type ModelOptions,
} from '../src/index.ts'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { input, Served } from './support.ts'

/** The resources of this process, which must be the same after a load that failed. */
const held = () => ({
  children: readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').length,
  descriptors: readdirSync('/proc/self/fd').length,
})

interface Noted {
  readonly data: readonly (number | bigint | boolean)[]
}

/** A model that notes its inputs. */
function noted(
  signature: string,
  warmUp: ModelOptions['warmUp'],
  others: Partial<ModelOptions> = {},
): { readonly model: Model; readonly seen: unknown[] } {
  const seen: unknown[] = []
  const run: ModelOptions['run'] = (inputs, { parameters }) => {
    const values = Object.values(inputs).map((one) => ({ shape: one.shape, data: one.toArray() }))
    seen.push(Object.keys(parameters).length === 0 ? values : [...values, parameters])
    return Object.values(inputs)[0]!
  }
  return { model: defineModel({ name: 'm', signature, run, ...others, warmUp: warmUp! }), seen }
}

const start = (model: Model, options: object = {}): Promise<Served> => Served.start([model], options)

describe('warm-up requests of a function', () => {
  test('run before the server is there, as often as they say, and are no inferences', async () => {
    const { model, seen } = noted('(x: f32[n, 2]) -> (y: f32[n, 2])', [
      { name: 'recorded', inputs: [{ name: 'x', shape: [1, 2], data: [[1, 2]] }], parameters: { by: 3 } },
      { count: 2, inputs: [{ name: 'x', shape: [2, 2], zeroData: true }] },
      { inputs: [{ name: 'x', data: tensor('f32', [1, 2], [5, 6]) }] },
    ])
    const served = await start(model)
    expect(seen).toEqual([
      [{ shape: [1, 2], data: [1, 2] }, { by: 3 }],
      [{ shape: [2, 2], data: [0, 0, 0, 0] }],
      [{ shape: [2, 2], data: [0, 0, 0, 0] }],
      [{ shape: [1, 2], data: [5, 6] }],
    ])
    const [, stats] = await served.get('/v2/models/m/stats')
    expect(stats).toMatchObject({ model_stats: [{ inference_count: 0, execution_count: 0, last_inference: 0 }] })
    const { body } = await served.send('GET', '/metrics')
    expect(body.toString()).toContain('nv_inference_request_success{model="m",version="1"} 0\n')
    expect(body.toString()).not.toContain('tenon_request_seconds_count{model="m"')
  })

  test('have zeros, empty texts, or random elements of each type that are valid', async () => {
    for (const type of ['bool', 'u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64', 'f16', 'bf16', 'f32', 'f64']) {
      const { model, seen } = noted(`(x: ${type}[4, 64]) -> (y: ${type}[4, 64])`, [
        { inputs: [{ name: 'x', zeroData: true }] },
        { inputs: [{ name: 'x', randomData: true }] },
      ])
      await (await start(model)).server.closeAsync()
      const [[zeros], [random]] = seen as [[Noted], [Noted]]
      expect(zeros.data.every((value) => Number(value) === 0)).toBe(true)
      expect(new Set(random.data).size).toBeGreaterThan(1)
      if (type.includes('f')) expect(random.data.every((value) => Number(value) >= 1 && Number(value) < 2)).toBe(true)
    }
    const { model, seen } = noted('(x: string[3]) -> (y: string[3])', [
      { inputs: [{ name: 'x', zeroData: true }] },
      { inputs: [{ name: 'x', data: ['a', '', 'c'] }] },
    ])
    await start(model)
    expect(seen).toEqual([[{ shape: [3], data: ['', '', ''] }], [{ shape: [3], data: ['a', '', 'c'] }]])
  })

  test('get the first answer of a stream', async () => {
    let [yielded, ended] = [0, 0]
    const endless = defineModel({
      name: 'endless',
      signature: '(x: f32[1]) -> (y: f32[1])',
      warmUp: [{ count: 2, inputs: [{ name: 'x', zeroData: true }] }],
      run: async function* ({ x }) {
        try {
          for (;;) {
            yielded++
            yield x
          }
        } finally {
          ended++
        }
      },
    })
    await start(endless)
    expect([yielded, ended]).toEqual([2, 2])
  })

  test('are refused with the option that is wrong', () => {
    const of = (warmUp: unknown) => () => noted('(x: f32[n]) -> (y: f32[n])', warmUp as never)
    const one = { name: 'x', shape: [1], zeroData: true }
    for (const [warmUp, text] of [
      [{}, 'warmUp must be an array of requests'],
      [[undefined], 'warmUp[0] must be a request'],
      [[null], 'warmUp[0] must be an object'],
      [[{ inputs: [one], times: 3 }], 'warmUp[0] must not have the option "times"'],
      [[{ inputs: [one], count: 0 }], 'warmUp[0].count must be a whole number from 1 to 1000, got 0'],
      [[{ inputs: [one], count: 1e9 }], 'warmUp[0].count must be a whole number from 1 to 1000, got 1000000000'],
      [[{ inputs: 'x' }], 'warmUp[0].inputs must be an array of inputs'],
      [[{ inputs: [undefined] }], 'warmUp[0].inputs[0] must be an input'],
      [[{ inputs: [{ name: 'x' }] }], 'warmUp[0].inputs[0] must have either data, zeroData or randomData'],
      [[{ inputs: [{ ...one, data: [1] }] }], 'must have either data, zeroData or randomData'],
      [[{ inputs: [{ ...one, zeroData: 1 }] }], 'warmUp[0].inputs[0].zeroData must be true, or absent, got 1'],
      [[{ inputs: [{ ...one, name: 7 }] }], 'warmUp[0].inputs[0].name must be a string'],
      [[{ inputs: [{ ...one, file: 'x' }] }], 'warmUp[0].inputs[0] must not have the option "file"'],
    ] as const) {
      expect(of(warmUp)).toThrow(text)
    }
  })

  test('fail the load with the model, the version, the request and the reason', async () => {
    const signature = '(x: f32[n, 2], flag: bool[1]) -> (y: f32[n, 2])'
    const flag = { name: 'flag', zeroData: true }
    for (const [inputs, text] of [
      [[flag], 'the request must have the input x of the model m'],
      [[flag, { name: 'x', zeroData: true }], 'inputs[1].shape[0] must be a whole number from 0, got -1'],
      [[flag, { name: 'x', shape: [1, 3], zeroData: true }], 'axis 1 has size 3, not 2'],
      [[flag, { name: 'x', shape: 'all', zeroData: true }], 'inputs[1].shape must be an array'],
      [[flag, { name: 'x', shape: [1, 2], data: [1] }], 'the data of x must be 2 elements'],
      [
        [flag, { name: 'x', data: tensor('s32', [1, 2], [1, 2]) }],
        'the input x must have the datatype FP32, got "INT32"',
      ],
      [
        [flag, { name: 'x', datatype: 'FP64', shape: [1, 2], zeroData: true }],
        'must have the datatype FP32, got "FP64"',
      ],
      [[flag, { name: '__proto__', shape: [1], zeroData: true }], 'the model m has no input "__proto__"'],
      [
        [
          { name: 'flag', data: [2] },
          { name: 'x', shape: [0, 2], zeroData: true },
        ],
        'must be',
      ],
      [
        [flag, { name: 'x', shape: [1e8, 2], zeroData: true }],
        'the inputs of a request must have at most 1048576 bytes',
      ],
      [[flag, { name: 'x', shape: [2 ** 52, 2 ** 52], zeroData: true }], 'must be a number of bytes'],
    ] as const) {
      const { model, seen } = noted(signature, [{ name: 'first', inputs: inputs as readonly object[] as never }])
      const error: ModelLoadError = await start(model, { maxRequestBytes: 2 ** 20 }).then(
        () => expect.fail('started'),
        (reason: ModelLoadError) => reason,
      )
      expect(error).toBeInstanceOf(ModelLoadError)
      expect(error.message).toContain(`failed to load 'm': version 1 did not answer the warm-up request first: `)
      expect(error.message).toContain(text)
      expect(error.details).toEqual({ model: 'm', version: '1', request: 'first' })
      expect(seen).toEqual([])
    }
    const thrown = noted('(x: f32[n]) -> (y: f32[n])', [{ inputs: [{ name: 'x', shape: [1], zeroData: true }] }], {
      run: () => {
        throw new Error('no weights')
      },
    })
    await expect(start(thrown.model)).rejects.toThrow('the warm-up request 1: no weights')
    const texts = noted('(x: string[1]) -> (y: string[1])', [{ inputs: [{ name: 'x', randomData: true }] }])
    await expect(start(texts.model)).rejects.toThrow('the input x must have data or zeroData')
  })

  test('that hang fail at the deadline of the model', async () => {
    const { model } = noted('(x: f32[1]) -> (y: f32[1])', [{ inputs: [{ name: 'x', zeroData: true }] }], {
      deadline: 50,
      run: () => new Promise(() => {}),
    })
    await expect(start(model)).rejects.toMatchObject({
      message: expect.stringContaining('ran for more than 50 ms') as string,
      hint: 'Raise the deadline of the model, or make the warm-up request smaller.',
    })
  })
})

const zero = { inputs: [{ name: 'x', shape: [2], zeroData: true }] }
const request = { inputs: [input('x', 'FP32', [2], [1, 2])] }
const library = { copy: libfaulty }

describe('warm-up requests of a kernel', () => {
  test('run in each worker of a model in a repository, also from files', async () => {
    const directory = makeRepository({
      'm/model.json': faulty(0, {
        instances: 3,
        warmUp: [{ ...zero, count: 2 }, { file: 'recorded.json' }, { inputs: [{ name: 'x', inputDataFile: 'x.npy' }] }],
      }),
      'm/recorded.json': request, // with datatypes
      'm/1/libfaulty.so': library,
    })
    writeNpy(join(directory, 'm/x.npy'), tensor('f32', [3], [1, 2, 3]))
    const repository = ModelRepository.open(directory)
    const loaded = await repository.load('m')
    const { server } = await Served.start(loaded.models)
    const [{ kernel }] = loaded.models as [Model]
    onTestFinished(() => loaded.closeAsync())
    expect(kernel).toBeDefined()
    await server.closeAsync()
    const served = await Served.start([], { repository })
    expect(await served.infer('m', request)).toMatchObject([200, { outputs: [{ data: [2, 4] }] }])
    const [, stats] = await served.get('/v2/models/m/stats')
    expect(stats).toMatchObject({ model_stats: [{ inference_count: 1, execution_count: 1 }] })
  })

  test('run in each worker, and in each that replaces another one before it gets requests', async () => {
    const isolated = await Library.isolate(libfaulty, { workers: 2, restart: { limit: 100, backoff: 0 } })
    onTestFinished(() => isolated.closeAsync())
    const models = [0, 1].map((fault) =>
      defineModel({
        name: fault === 0 ? 'double' : 'crash',
        kernel: isolated.kernel('faulty'),
        attributes: { fault },
        memory: isolated.memory,
        idempotent: false,
        ...(fault === 0 ? { warmUp: [{ ...zero, count: 3 }], instances: 2 } : {}),
      }),
    )
    const served = await Served.start(models)
    expect(isolated.health().workers.map(({ calls }) => calls)).toEqual([3, 3])
    expect(await served.infer('crash', request)).toMatchObject([500, {}])
    expect(await served.infer('double', request)).toMatchObject([200, { outputs: [{ data: [2, 4] }] }])
    await eventually(() => expect(isolated.health().workers.reduce((sum, { calls }) => sum + calls, 0)).toBe(7))

    await served.server.closeAsync()
    await isolated.restart()
    await isolated.kernel('faulty').async(tensor('f32', [2], [1, 2]), { fault: 0 })
    // The server is closed, and its warm-ups with it.
    expect(isolated.health().workers.reduce((sum, { calls }) => sum + calls, 0)).toBe(1)
  })

  test('that crash, hang or take too much memory fail the load, and leave nothing', async () => {
    for (const [fault, others, text] of [
      [1, {}, 'SIGSEGV'],
      [8, { deadline: 100 }, '100 ms'],
      [10, { memory: '64 MiB' }, 'the warm-up request 1: '],
      [24, {}, 'failed on purpose'],
    ] as const) {
      const files = {
        'm/model.json': faulty(fault, { instances: 2, warmUp: [zero], ...others }),
        'm/1/libfaulty.so': library,
      }
      const repository = ModelRepository.open(makeRepository(files))
      await repository.load('m').then((loaded) => loaded.closeAsync())
      const before = held()
      const error: Error = await createServer({ repository, http: { port: 0 } }).then(
        () => expect.fail('started'),
        (reason: Error) => reason,
      )
      expect(error.message).toContain(`failed to load 'm': version 1 did not answer the warm-up request 1: `)
      expect(error.message).toContain(text)
      await eventually(() => {
        const after = held()
        expect(after.children).toBe(before.children)
        // The collector may have freed what earlier tests had.
        expect(after.descriptors).toBeLessThanOrEqual(before.descriptors)
      })
    }
  })

  test('keep the old version until the new one is warm, and for good if it fails', async () => {
    const directory = makeRepository({
      'm/model.json': faulty(0),
      'm/1/libfaulty.so': library,
      'm/2/libfaulty.so': library,
    })
    const set = (fault: number, others: object): void =>
      writeFileSync(join(directory, 'm/model.json'), JSON.stringify(faulty(fault, others)))
    const only = (version: string) => ({ versionPolicy: { specific: [version] } })
    set(0, only('1'))
    const served = await Served.start([], { repository: ModelRepository.open(directory), modelControl: 'explicit' })
    const load = () => served.post('/v2/repository/models/m/load', {})
    const version = async (): Promise<unknown> => (await served.infer('m', request))[1]['model_version']
    expect(await load()).toEqual([200, undefined])

    // Each of the five requests takes 50 ms.
    set(29, { ...only('2'), warmUp: [{ ...zero, count: 5 }] })
    const loads: unknown[] = []
    const loading = load().then((answer) => (loads.push(answer), answer))
    const seen: unknown[] = []
    while (loads.length === 0) seen.push(await version())
    expect(await loading).toEqual([200, undefined])
    expect(seen.length).toBeGreaterThan(3)
    expect(seen.slice(0, -2).every((one) => one === '1')).toBe(true)
    expect(await version()).toBe('2')

    set(1, { ...only('1'), warmUp: [zero] })
    const [status, { error }] = (await load()) as [number, { error: string }]
    expect([status, error]).toEqual([
      500,
      expect.stringContaining("failed to load 'm': version 1 did not answer the warm-up request 1"),
    ])
    expect(error).not.toContain(tmpdir())
    expect(await version()).toBe('2')
  })

  test('are refused with the file that is wrong', async () => {
    const files = (warmUp: object[], others: object = {}) => ({
      'm/model.json': faulty(0, { warmUp }),
      'm/1/libfaulty.so': library,
      ...others,
    })
    for (const [repository, text] of [
      [files([{ file: 'none.json' }]), 'none.json of a warm-up request cannot be read: ENOENT'],
      [files([{ file: '../x.json' }]), 'a file of a warm-up request must be in'],
      [files([{ file: '/etc/passwd' }]), 'must be in'],
      [files([{ file: 7 }]), 'must be in'],
      [files([{ file: '.' }]), 'must be in'],
      [files([{ file: '1' }]), 'cannot be read: EISDIR'],
      [files([{ file: 'a.json' }], { 'm/a.json': '{' }), 'a.json of a warm-up request cannot be read: '],
      [files([{ file: 'a.json' }], { 'm/a.json': 'null' }), 'it must have the inputs of a request'],
      [files([{ file: 'a.json' }], { 'm/a.json': { inputs: [7] } }), 'warmUp[0].inputs[0] must be an object'],
      [
        files([{ inputs: [{ name: 'x', inputDataFile: 'x.npy' }] }], { 'm/x.npy': 'text' }),
        'x.npy of a warm-up request',
      ],
      [files([{ count: 0, inputs: [] }]), 'warmUp[0].count must be a whole number'],
      [files([7 as never]), 'the field warmUp.0 must be of the kind Object, got 7'],
    ] as const) {
      const error: Error = await Served.start([], {
        repository: ModelRepository.open(makeRepository(repository)),
      }).then(
        () => expect.fail('started'),
        (reason: Error) => reason,
      )
      expect(error.name).toBe('ModelLoadError')
      expect(error.message).toContain(text)
    }
  })
})

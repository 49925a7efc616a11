import { kernelLibrary } from '@tenon/kernels'
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { ModelRepository, type ServerOptions } from '../src/index.ts'
import { Caller } from './caller.ts'
import { faulty, fixture, libfaulty, makeRepository } from './make-repository.ts'
import { echo } from './models.ts'
import { input, Served } from './support.ts'

/** The processes that this one has started. */
const children = (): number => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').length

const softmax = {
  library: 'libkernels.so',
  kernel: 'softmax',
  signature: '(x: f32[rows, columns]) -> (y: f32[rows, columns])',
  attributes: { temperature: 2 },
  maxBatchSize: 8,
}

const module = `
  import { defineModel } from ${JSON.stringify(join(import.meta.dirname, '../src/index.ts'))}
  export default defineModel({ name: 'same', signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })`

describe('a folder with models', () => {
  test.each([['./models'], [null], [{ names: () => [] }]])(
    'is a repository, and %o is refused with what to open',
    async (repository) => {
      await expect(Served.start([], { repository: repository as never })).rejects.toThrow(
        /repository must be an object with the functions names\(\) and load\(\), got .*ModelRepository\.open\(\)/s,
      )
    },
  )

  test('has kernels of libraries in versions, and functions', async () => {
    const directory = makeRepository({
      'softmax/model.json': softmax,
      'softmax/1/libkernels.so': { copy: kernelLibrary('kernels') },
      'softmax/3/libkernels.so': { copy: kernelLibrary('kernels') },
      'same/model.ts': module,
      '.hidden/x': '',
    })
    const repository = ModelRepository.open(directory)
    expect(repository.names()).toEqual(['same', 'softmax'])
    const served = await Served.start([], { repository })
    const [, index] = await served.post('/v2/repository/index', {})
    expect(index).toEqual([
      { name: 'same', version: '1', state: 'READY', reason: '' },
      { name: 'softmax', version: '1', state: 'READY', reason: '' },
      { name: 'softmax', version: '3', state: 'READY', reason: '' },
    ])
    const request = { inputs: [input('x', 'FP32', [1, 2], [0, 0])] }
    expect(await served.infer('softmax', request)).toMatchObject([
      200,
      { model_version: '3', outputs: [{ data: [0.5, 0.5] }] },
    ])
    expect(await served.infer('same', { inputs: [input('x', 'FP32', [1], [7])] })).toMatchObject([
      200,
      { outputs: [{ data: [7] }] },
    ])
  })

  test('has the versions that its policy chooses', async () => {
    const files = Object.fromEntries(
      ['1', '9', '10'].map((no) => [`m/${no}/libkernels.so`, { copy: kernelLibrary('kernels') }]),
    )
    for (const [versionPolicy, versions] of [
      [undefined, ['1', '9', '10']],
      ['all', ['1', '9', '10']],
      [{ latest: 1 }, ['10']],
      [{ latest: 2 }, ['9', '10']],
      [{ latest: 5 }, ['1', '9', '10']],
      [{ specific: ['9', '1', '9'] }, ['1', '9']],
    ] as const) {
      const directory = makeRepository({ 'm/model.json': { ...softmax, versionPolicy }, ...files })
      const served = await Served.start([], { repository: ModelRepository.open(directory) })
      expect((await served.get('/v2/models/m'))[1]).toMatchObject({ versions })
      await served.server.closeAsync()
    }
    for (const [versionPolicy, text] of [
      [{ specific: ['2'] }, 'must have a folder for the version 2 of versionPolicy, but has none'],
      [{ specific: [] }, 'the field versionPolicy'],
      [{ latest: 0 }, 'the field versionPolicy'],
      ['latest', 'Write "all", { "latest": 2 } or { "specific": ["1", "3"] }'],
    ] as const) {
      const directory = makeRepository({ 'm/model.json': { ...softmax, versionPolicy }, ...files })
      await expect(Served.start([], { repository: ModelRepository.open(directory) })).rejects.toThrow(text)
    }
  })

  test('does not replace a model that the server has already', async () => {
    const repository = ModelRepository.open(makeRepository({ 'same/model.ts': module }))
    const model = echo('f32', 'same')
    const text = 'the server has a model of this name that is not in the repository'
    await expect(Served.start([model], { repository })).rejects.toThrow(`failed to load 'same': ${text}`)
    const served = await Served.start([model], { repository, modelControl: 'explicit' })
    for (const change of ['load', 'unload']) {
      const answer = await served.post(`/v2/repository/models/same/${change}`, {})
      expect(answer).toEqual([500, { error: expect.stringContaining(`failed to ${change} 'same': ${text}`) }])
    }
    expect(await served.infer('same', { inputs: [input('x', 'FP32', [1], [7])] })).toMatchObject([200, {}])
  })

  test('is refused with the file and the field that is wrong, and leaves nothing open', async () => {
    const good = { 'a/model.json': softmax, 'a/1/libkernels.so': { copy: kernelLibrary('kernels') } }
    const errorOf = async (files: Parameters<typeof makeRepository>[0]): Promise<string> => {
      const before = children()
      const error: Error = await Served.start([], { repository: ModelRepository.open(makeRepository(files)) }).then(
        () => expect.fail('loaded'),
        (reason: Error) => reason,
      )
      expect(children()).toBe(before)
      expect(error.name).toBe('ModelLoadError')
      return error.message
    }
    expect(await errorOf({})).toMatch(/must have a folder for each model, but has none[^]*modelControl: 'explicit'/)
    expect(() => ModelRepository.open('/nowhere')).toThrow('must be a folder with models')
    expect(() => ModelRepository.open('/nowhere')).toThrow('but does not exist')
    expect(await errorOf({ ...good, 'b/model.json': { library: 'x.so' } })).toContain('the field kernel is missing')
    const late = { ...good, 'b/model.json': { ...softmax, deadline: '5s' } }
    expect(await errorOf(late)).toMatch(
      /deadline must be of the kind number, got "5s"[^]*Write a number of milliseconds/,
    )
    expect(
      await errorOf({
        ...good,
        'b/model.json': { ...softmax, memory: '512' },
        'b/1/libkernels.so': good['a/1/libkernels.so'],
      }),
    ).toMatch(
      /failed to load 'b': memory must be a whole number of bytes, or a text with a unit such as "64 MiB", got "512"/,
    )
    expect(await errorOf({ ...good, 'b/x': '' })).toContain('must contain model.json, pipeline.json or one of model.ts')
    expect(await errorOf({ ...good, 'b/model.json': '{' })).toContain('must be JSON')
    expect(await errorOf({ ...good, 'b/model.json': { ...softmax, kernel: 1 } })).toContain(
      'the field kernel must be of the kind string, got 1',
    )
    expect(await errorOf({ ...good, 'b/model.json': { ...softmax, maxBatch: 1 } })).toContain(
      'there is no field maxBatch',
    )
    expect(await errorOf({ ...good, 'b/model.json': { ...softmax, batching: { preferredBatchSize: [0] } } })).toContain(
      'batching.preferredBatchSize.0',
    )
    expect(await errorOf({ ...good, 'b/model.json': softmax })).toContain('must have a folder for each version')
    expect(await errorOf({ ...good, 'b/model.json': softmax, 'b/1/x': '' })).toContain("failed to load 'b'")
    expect(
      await errorOf({
        ...good,
        'b/model.json': { ...softmax, kernel: 'sofmax' },
        'b/1/libkernels.so': { copy: kernelLibrary('kernels') },
      }),
    ).toContain('softmax')
    expect(await errorOf({ ...good, 'b/model.js': 'export default 1' })).toContain('must be a model with this name')
    expect(await errorOf({ ...good, 'b/model.js': 'throw new Error("x")' })).toContain('cannot be imported: x')
  })
})

/** A library with models that answer, hang or crash, by the number in csrc/fixture/faulty/faults.h. */
const faultyModel = (name: string, fault: number, others: object = {}) => ({
  [`${name}/model.json`]: faulty(fault, others),
  [`${name}/1/libfaulty.so`]: { copy: libfaulty },
})

describe('models that clients load and unload', () => {
  const optionsFor = (files: Parameters<typeof makeRepository>[0]): Partial<ServerOptions> => ({
    repository: ModelRepository.open(makeRepository(files)),
    modelControl: 'explicit',
  })
  const start = (files: Parameters<typeof makeRepository>[0]): Promise<Served> => Served.start([], optionsFor(files))
  const request = { inputs: [input('x', 'FP32', [2], [1, 2])] }

  test('start unavailable, answer when loaded, and end when unloaded', async () => {
    const served = await start({ ...faultyModel('double', 0), ...faultyModel('other', 0) })
    expect((await served.get('/v2'))[1]).toMatchObject({
      extensions: expect.arrayContaining(['model_repository']) as unknown,
    })
    const index = async (body: object = {}): Promise<unknown> => (await served.post('/v2/repository/index', body))[1]
    expect(await index()).toEqual([
      { name: 'double', version: '', state: 'UNAVAILABLE', reason: 'not loaded' },
      { name: 'other', version: '', state: 'UNAVAILABLE', reason: 'not loaded' },
    ])
    expect((await served.infer('double', request))[0]).toBe(503)
    const before = children()
    expect((await served.send('POST', '/v2/repository/models/double/load')).status).toBe(200)
    expect(await served.infer('double', request)).toMatchObject([200, { outputs: [{ data: [2, 4] }] }])
    expect(await index({ ready: true })).toEqual([{ name: 'double', version: '1', state: 'READY', reason: '' }])
    expect((await served.send('POST', '/v2/repository/models/double/unload')).status).toBe(200)
    expect(await index()).toMatchObject([{ name: 'double', state: 'UNAVAILABLE', reason: 'unloaded' }, {}])
    expect((await served.infer('double', request))[0]).toBe(503)
    expect(children()).toBe(before)
    expect(await served.post('/v2/repository/models/no/load', {})).toEqual([
      500,
      { error: "failed to load 'no': the repository has no such model" },
    ])
    expect((await served.post('/v2/repository/models/no/unload', {}))[0]).toBe(404)
    expect((await served.post('/v2/repository/models/..%2fdouble/load', {}))[0]).toBe(500)
  })

  test('over gRPC', async () => {
    const caller = await Caller.start([], optionsFor(faultyModel('double', 0)))
    const { repositoryIndex, repositoryModelLoad, repositoryModelUnload } = GRPCInferenceService.method
    const config = { parameterChoice: { case: 'stringParam' as const, value: '{"max_batch_size":4}' } }
    await caller.call(repositoryModelLoad, { modelName: 'double', parameters: { config } })
    expect(await caller.call(repositoryIndex, {})).toMatchObject({
      models: [{ name: 'double', version: '1', state: 'READY' }],
    })
    expect((await caller.served.get('/v2/models/double/config'))[1]).toMatchObject({ max_batch_size: 4 })
    const file = { parameterChoice: { case: 'bytesParam' as const, value: new Uint8Array(3) } }
    const refused = { modelName: 'double', parameters: { 'file:x': file } }
    expect(await caller.errorOf(repositoryModelLoad, refused)).toEqual([
      'INTERNAL',
      expect.stringContaining('failed to poll from model repository'),
    ])
    await caller.call(repositoryModelUnload, { modelName: 'double' })
    expect(await caller.call(repositoryIndex, { ready: true })).toMatchObject({ models: [] })
  })

  test('a model that is loaded again keeps answering, and a failed load keeps the old one', async () => {
    const directory = makeRepository(faultyModel('double', 0))
    const repository = ModelRepository.open(directory)
    const served = await Served.start([], { repository, modelControl: 'explicit' })
    await served.post('/v2/repository/models/double/load', {})
    const loading = new AbortController()
    const statuses = new Set<number>()
    const asking = (async () => {
      while (!loading.signal.aborted) statuses.add((await served.infer('double', request))[0])
    })()
    for (let i = 0; i < 5; i++) expect((await served.post('/v2/repository/models/double/load', {}))[0]).toBe(200)
    writeFileSync(join(directory, 'double/model.json'), '{')
    const failed = await served.post('/v2/repository/models/double/load', {})
    loading.abort()
    await asking
    expect(failed).toEqual([500, { error: expect.stringMatching(/^model.json must be JSON/) as string }])
    expect(statuses).toEqual(new Set([200]))
    expect((await served.infer('double', request))[0]).toBe(200)
    expect((await served.post('/v2/repository/index', {}))[1]).toMatchObject([{ state: 'READY' }])
  })

  test('a library that cannot be loaded does not become a model, and does not replace one', async () => {
    const unresolved = { copy: fixture('core_fixture_unresolved') }
    const signature = '(x: f32[n]) -> (y: f32[n])'
    const broken = { library: 'libfaulty.so', kernel: 'fixture_unresolved', signature }
    const directory = makeRepository({
      ...faultyModel('double', 0),
      'broken/model.json': broken,
      'broken/1/libfaulty.so': unresolved,
    })
    await expect(Served.start([], { repository: ModelRepository.open(directory) })).rejects.toThrow(
      /^failed to load 'broken': .*fixture_nobody_has_this/,
    )
    const served = await Served.start([], { repository: ModelRepository.open(directory), modelControl: 'explicit' })
    const load = (name: string) => served.post(`/v2/repository/models/${name}/load`, {})
    expect(await load('broken')).toEqual([
      500,
      { error: expect.stringMatching(/^failed to load 'broken': /) as string },
    ])
    expect((await served.get('/v2/models/broken/ready'))[0]).toBe(503)

    expect((await load('double'))[0]).toBe(200)
    const before = children()
    mkdirSync(join(directory, 'double/2'))
    copyFileSync(unresolved.copy, join(directory, 'double/2/libfaulty.so'))
    writeFileSync(join(directory, 'double/model.json'), JSON.stringify(broken))
    expect((await load('double'))[0]).toBe(500)
    expect(await served.infer('double', request)).toMatchObject([
      200,
      { model_version: '1', outputs: [{ data: [2, 4] }] },
    ])
    expect(children()).toBe(before)
  })

  test('a model states the signature and the convention of a symbol that its library does not describe', async () => {
    const directory = makeRepository({ 'm/1/libfaulty.so': { copy: libfaulty } })
    const served = await Served.start([], { repository: ModelRepository.open(directory), modelControl: 'explicit' })
    const write = (kernel: string, others: object): void =>
      writeFileSync(join(directory, 'm/model.json'), JSON.stringify({ library: 'libfaulty.so', kernel, ...others }))
    const load = () => served.post('/v2/repository/models/m/load', {})
    const inputs = [
      input(
        'x',
        'FP32',
        [16],
        Array.from({ length: 16 }, (_, i) => i),
      ),
    ]
    const signature = '(x: f32[16]) -> (y: f32[16])'
    // The library marks one function, and says nothing about the other one, which is then an XLA FFI handler.
    write('faulty_unified', { signature, convention: 'host-unified', recycle: 1 })
    await load()
    for (let i = 0; i < 3; i++) expect((await served.infer('m', { inputs }))[0]).toBe(200)
    const metrics = (await served.send('GET', '/metrics')).body.toString()
    // With "recycle": 1, each call has a process of its own.
    expect(metrics).toMatch(/tenon_worker_restarts_total\{model="m"\} [23]/)
    write('faulty_refusing', { signature })
    await load()
    expect(await served.infer('m', { inputs })).toEqual([
      500,
      { error: expect.stringContaining('no questions') as string },
    ])
    write('faulty_refusing', {})
    expect(await load()).toEqual([500, { error: expect.stringContaining('must have a signature') as string }])
    write('faulty_refusing', { signature, convention: 'xla' })
    expect(await load()).toEqual([500, { error: expect.stringContaining('the field convention must be') as string }])
  })

  test('an unload waits for the requests that run', async () => {
    const served = await start(faultyModel('sleep', 29, { instances: 4 }))
    await served.post('/v2/repository/models/sleep/load', {})
    const running = Array.from({ length: 12 }, () => served.infer('sleep', request))
    for (let i = 0; i < 20; i++) await served.get('/v2')
    const unloading = served.post('/v2/repository/models/sleep/unload', {})
    expect(new Set((await Promise.all(running)).map(([status]) => status))).toEqual(new Set([200]))
    expect((await unloading)[0]).toBe(200)
  })

  test('a configuration changes numbers only, and files of clients are refused', async () => {
    const served = await start(faultyModel('double', 0))
    const load = (parameters: object) => served.post('/v2/repository/models/double/load', { parameters })
    const config = JSON.stringify({
      max_batch_size: '16',
      instance_group: [{ count: 2 }, { count: '1' }],
      backend: 'x',
    })
    expect((await load({ config }))[0]).toBe(200)
    expect((await served.get('/v2/models/double/config'))[1]).toMatchObject({
      max_batch_size: 16,
      instance_group: [{ count: 3 }],
    })
    const failed = "failed to load 'double', failed to poll from model repository: "
    expect(await load({ 'file:1/model.so': 'AAAA' })).toEqual([
      500,
      { error: `${failed}files of clients are not loaded` },
    ])
    expect(await load({ config: '{' })).toEqual([500, { error: `${failed}config must be JSON` }])
    expect(await load({ config: '{"max_batch_size":-1}' })).toEqual([
      500,
      { error: `${failed}max_batch_size must be a whole number` },
    ])
    expect(await load({ other: 1 })).toEqual([500, { error: `${failed}there is no parameter "other"` }])
    expect((await served.infer('double', request))[0]).toBe(200)
  })

  test('a function whose file was edited answers in its new version, also after one that failed', async () => {
    const directory = makeRepository({ 'same/model.mjs': module })
    const served = await Served.start([], {
      repository: ModelRepository.open(directory),
      modelControl: 'explicit',
    })
    const edit = (text: string, seconds: number): void => {
      const path = join(directory, 'same/model.mjs')
      writeFileSync(path, text)
      // Two edits can be within one tick of the clock of a file system.
      utimesSync(path, seconds, seconds)
    }
    const load = async () => (await served.post('/v2/repository/models/same/load', {}))[0]
    const answer = async () => (await served.infer('same', request))[1]['outputs']
    expect(await load()).toBe(200)
    expect(await answer()).toMatchObject([{ data: [1, 2] }])
    edit('throw new Error("x")', 1000)
    expect(await load()).toBe(500)
    expect(await answer()).toMatchObject([{ data: [1, 2] }])
    edit(module.replace('=> x', '=> x.slice([0, 1])').replace('y: f32[n]', 'y: f32[1]'), 2000)
    expect(await load()).toBe(200)
    expect(await answer()).toMatchObject([{ data: [1] }])
  })

  test('are not for clients of a server that was not told so', async () => {
    const served = await Served.start([], {
      repository: ModelRepository.open(makeRepository(faultyModel('double', 0))),
    })
    expect((await served.post('/v2/repository/models/double/load', {}))[0]).toBe(501)
    expect((await served.post('/v2/repository/models/double/unload', {}))[0]).toBe(501)
    expect((await served.infer('double', request))[0]).toBe(200)
  })
})

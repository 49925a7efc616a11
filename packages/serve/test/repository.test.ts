import {
  create,
  fromBinary,
  toBinary,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { Client, credentials, status as grpcStatus } from '@grpc/grpc-js'
import { coreLibrary } from '@tenon/core/internal'
import { kernelLibrary } from '@tenon/kernels'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { ModelRepository } from '../src/index.ts'
import { input, Served } from './support.ts'

const libfaulty = join(dirname(coreLibrary().path), 'libfaulty.so')

/** Makes a folder with models: files by path, whose contents are JSON, text, or copies of libraries. */
function makeRepository(files: Readonly<Record<string, object | string | { copy: string }>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-models-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    if (typeof content === 'string') writeFileSync(join(directory, path), content)
    else if ('copy' in content) copyFileSync(content.copy, join(directory, path))
    else writeFileSync(join(directory, path), JSON.stringify(content))
  }
  return directory
}

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
    expect(() => ModelRepository.open(makeRepository({}))).toThrow('must have a folder for each model')
    expect(() => ModelRepository.open('/nowhere')).toThrow('must be a folder with models')
    expect(await errorOf({ ...good, 'b/x': '' })).toContain('must contain model.json or one of model.ts')
    expect(await errorOf({ ...good, 'b/model.json': '{' })).toContain('must be JSON')
    expect(await errorOf({ ...good, 'b/model.json': { ...softmax, kernel: 1 } })).toContain('kernel is not valid')
    expect(await errorOf({ ...good, 'b/model.json': { ...softmax, maxBatch: 1 } })).toContain('maxBatch is not valid')
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
    expect(await errorOf({ ...good, 'b/model.js': 'throw new Error("x")' })).toContain('cannot be imported')
  })
})

/** A library with models that answer, hang or crash, by the number in csrc/fixture/faulty/faults.h. */
const faultyModel = (name: string, fault: number, others: object = {}) => ({
  [`${name}/model.json`]: faulty(fault, others),
  [`${name}/1/libfaulty.so`]: { copy: libfaulty },
})

describe('rule 36: models that clients load and unload', () => {
  const start = (files: Parameters<typeof makeRepository>[0]): Promise<Served> =>
    Served.start([], {
      repository: ModelRepository.open(makeRepository(files)),
      modelControl: 'explicit',
      grpc: { port: 0 },
    })
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
    const served = await start(faultyModel('double', 0))
    const client = new Client(`127.0.0.1:${served.server.grpcPort}`, credentials.createInsecure())
    onTestFinished(() => client.close())
    const call = <Method extends DescMethod>(
      method: Method,
      message: MessageInitShape<Method['input']>,
    ): Promise<MessageShape<Method['output']>> =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          `/inference.GRPCInferenceService/${method.name}`,
          (bytes: Buffer) => bytes,
          (bytes) => bytes,
          Buffer.from(toBinary(method.input, create(method.input, message))),
          (error, bytes) => (error === null ? resolve(fromBinary(method.output, bytes!) as never) : reject(error)),
        )
      })
    const { repositoryIndex, repositoryModelLoad, repositoryModelUnload } = GRPCInferenceService.method
    const config = { parameterChoice: { case: 'stringParam' as const, value: '{"max_batch_size":4}' } }
    await call(repositoryModelLoad, { modelName: 'double', parameters: { config } })
    expect(await call(repositoryIndex, {})).toMatchObject({
      models: [{ name: 'double', version: '1', state: 'READY' }],
    })
    expect((await served.get('/v2/models/double/config'))[1]).toMatchObject({ max_batch_size: 4 })
    const file = { parameterChoice: { case: 'bytesParam' as const, value: new Uint8Array(3) } }
    await expect(
      call(repositoryModelLoad, { modelName: 'double', parameters: { 'file:x': file } }),
    ).rejects.toMatchObject({
      code: grpcStatus.INTERNAL,
      details: expect.stringContaining('failed to poll from model repository') as string,
    })
    await call(repositoryModelUnload, { modelName: 'double' })
    expect(await call(repositoryIndex, { ready: true })).toMatchObject({ models: [] })
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

  test('are not for clients of a server that was not told so', async () => {
    const served = await Served.start([], {
      repository: ModelRepository.open(makeRepository(faultyModel('double', 0))),
    })
    expect((await served.post('/v2/repository/models/double/load', {}))[0]).toBe(501)
    expect((await served.post('/v2/repository/models/double/unload', {}))[0]).toBe(501)
    expect((await served.infer('double', request))[0]).toBe(200)
  })
})

/** Starts the command, and waits until it listens. */
async function startCommand(...args: string[]): Promise<{ child: ChildProcess; url: string; lines: string[] }> {
  const script = join(import.meta.dirname, '../src/bin.ts')
  const child = spawn(process.execPath, ['--conditions=@tenon/source', '--no-warnings', script, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr!.on('data', (chunk: Buffer) => {
      lines.push(...chunk.toString().trim().split('\n'))
      const listening = lines.find((line) => line.includes('"listening"'))
      if (listening !== undefined) resolve((JSON.parse(listening) as { http: string }).http)
    })
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${lines.join('\n')}`)))
  })
  return { child, url, lines }
}

async function run(...args: string[]): Promise<[code: number | null, stderr: string]> {
  const script = join(import.meta.dirname, '../src/bin.ts')
  const child = spawn(process.execPath, ['--conditions=@tenon/source', '--no-warnings', script, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return [code, stderr]
}

const infer = async (url: string, model: string): Promise<[status: number, json: unknown]> => {
  const body = JSON.stringify({ inputs: [input('x', 'FP32', [4], [1, 2, 3, 4])] })
  const reply = await fetch(`${url}/v2/models/${model}/infer`, { method: 'POST', body })
  return [reply.status, await reply.json()]
}

const faulty = (fault: number, others: object = {}): object => ({
  library: basename(libfaulty),
  kernel: 'faulty',
  attributes: { fault },
  ...others,
})

describe('tenon serve', () => {
  test('rule 35: answers until SIGTERM, finishes what runs, and ends with 0', { timeout: 60_000 }, async () => {
    const directory = makeRepository({
      'double/model.json': faulty(0),
      'double/1/libfaulty.so': { copy: libfaulty },
      'crash/model.json': faulty(1),
      'crash/1/libfaulty.so': { copy: libfaulty },
      'sleep/model.json': faulty(29, { instances: 2 }),
      'sleep/1/libfaulty.so': { copy: libfaulty },
    })
    const { child, url, lines } = await startCommand(directory, '--http-port', '0', '--grpc-port', '0')
    expect(await infer(url, 'double')).toMatchObject([200, { outputs: [{ data: [2, 4, 6, 8] }] }])
    const { grpc } = JSON.parse(lines.find((line) => line.includes('"listening"'))!) as { grpc: string }
    const client = new Client(grpc, credentials.createInsecure())
    onTestFinished(() => client.close())
    await promisify(client.waitForReady.bind(client))(Date.now() + 5000)
    expect((await infer(url, 'crash'))[0]).toBe(500)
    expect((await infer(url, 'double'))[0]).toBe(200)
    const running = Array.from({ length: 20 }, () => infer(url, 'sleep'))
    await infer(url, 'double')
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number]
    const statuses = (await Promise.all(running)).map(([status]) => status)
    expect([code, new Set(statuses)]).toEqual([0, new Set([200])])
    const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message)
    expect(messages.at(-1)).toBe('drained')
  })

  test(
    'rule 35: what is not done at the end of the drain ends with 4, and a second signal with 130',
    { timeout: 60_000 },
    async () => {
      const directory = makeRepository({ 'hang/model.json': faulty(8), 'hang/1/libfaulty.so': { copy: libfaulty } })
      for (const [signals, wanted] of [
        [1, 4],
        [2, 130],
      ] as const) {
        const { child, url } = await startCommand(directory, '--http-port', '0', '--no-grpc', '--drain-timeout', '1')
        const lost = infer(url, 'hang').catch(() => 'lost')
        while (!(await fetch(`${url}/v2/models/hang/stats`).then((reply) => reply.text())).includes('hang')) continue
        await new Promise((resolve) => setTimeout(resolve, 200))
        for (let i = 0; i < signals; i++) {
          child.kill('SIGTERM')
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        const [code] = (await once(child, 'exit')) as [number]
        expect([code, await lost]).toEqual([wanted, 'lost'])
      }
    },
  )

  test(
    'ends with 1 for a model that cannot be loaded, and with 2 for a wrong command line',
    { timeout: 60_000 },
    async () => {
      const directory = makeRepository({ 'a/model.json': '{' })
      expect(await run(directory)).toEqual([1, expect.stringContaining('must be JSON')])
      expect(await run()).toEqual([2, 'tenon serve: one folder with models must be given, got 0\n'])
      expect(await run(directory, '--http-port', 'x')).toEqual([
        2,
        expect.stringContaining('--http-port must be a whole number'),
      ])
      expect(await run(directory, '--what')).toEqual([2, expect.stringContaining('--what')])
      expect(existsSync(directory)).toBe(true)
    },
  )
})

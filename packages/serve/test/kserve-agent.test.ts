import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ModelRepository } from '../src/index.ts'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { input, Served } from './support.ts'

/**
 * Pulls models as the agent of KServe does (pkg/agent: watcher.go, downloader.go, puller.go): the files of a model go one by one into the folder
 * that the server reads, then a file that names the source, then it asks for the model to be loaded. Another source is a removal and an addition,
 * and a removal deletes the files before it asks for the model to be unloaded.
 */
class Agent {
  readonly #directory: string
  readonly #served: Served

  constructor(directory: string, served: Served) {
    this.#directory = directory
    this.#served = served
  }

  /** @returns the status of the load. */
  async add(model: string, storage: string): Promise<number> {
    const success = join(this.#directory, model, `SUCCESS.${createHash('sha256').update(storage).digest('hex')}`)
    if (!existsSync(success)) {
      for (const file of readdirSync(storage, { recursive: true, encoding: 'utf8', withFileTypes: true })) {
        if (!file.isFile()) continue
        const from = join(file.parentPath, file.name)
        const to = join(this.#directory, model, from.slice(storage.length))
        mkdirSync(dirname(to), { recursive: true })
        copyFileSync(from, to)
        // The server may look at the folder at any time.
        await this.#served.post('/v2/repository/index', {})
      }
      writeFileSync(success, JSON.stringify({ storageUri: `file://${storage}`, framework: 'tenon', memory: '1Gi' }))
    }
    return this.#ask(model, 'load')
  }

  /** @returns the status of the unload. */
  remove(model: string): Promise<number> {
    rmSync(join(this.#directory, model), { recursive: true })
    return this.#ask(model, 'unload')
  }

  async #ask(model: string, verb: string): Promise<number> {
    const headers = { 'content-type': 'application/json' }
    return (await this.#served.send('POST', `/v2/repository/models/${model}/${verb}`, '{}', headers)).status
  }
}

const request = { inputs: [input('x', 'FP32', [2], [1, 2])] }

/** A source with one version of a model. @param batch tells it apart in its configuration */
const storageOf = (batch: number): string =>
  makeRepository({
    'model.json': faulty(0, { signature: '(x: f32[rows]) -> (y: f32[rows])', maxBatchSize: batch }),
    '1/libfaulty.so': { copy: libfaulty },
  })

test('an agent that pulls models as that of KServe adds, replaces and removes them while others answer', async () => {
  const directory = makeRepository({})
  const served = await Served.start([], { repository: ModelRepository.open(directory), modelControl: 'explicit' })
  const agent = new Agent(directory, served)
  const index = async (): Promise<unknown> => (await served.post('/v2/repository/index', {}))[1]
  const batchOf = async (model: string): Promise<unknown> => {
    const [, config] = await served.get(`/v2/models/${model}/config`)
    return (config as { readonly max_batch_size?: number }).max_batch_size
  }
  expect(await index()).toEqual([])
  const [first, second] = [storageOf(2), storageOf(4)]
  expect(await agent.add('stays', first)).toBe(200)
  expect(await agent.add('changes', first)).toBe(200)

  const over = new AbortController()
  const statuses = new Set<number>()
  const asking = (async () => {
    while (!over.signal.aborted) statuses.add((await served.infer('stays', request))[0])
  })()
  for (const storage of [second, first, second]) {
    expect(await agent.remove('changes')).toBe(200)
    expect((await served.infer('changes', request))[0]).toBe(503)
    expect(await agent.add('changes', storage)).toBe(200)
    expect(await served.infer('changes', request)).toMatchObject([200, { outputs: [{ data: [2, 4] }] }])
    expect(await batchOf('changes')).toBe(storage === second ? 4 : 2)
  }
  // The agent starts again: the files are there, and it asks for all models.
  expect(await agent.add('stays', first)).toBe(200)
  over.abort()
  await asking
  expect(statuses).toEqual(new Set([200]))
  expect(await agent.remove('changes')).toBe(200)
  expect(await index()).toMatchObject([{ name: 'stays', state: 'READY' }])
})

test('a model that an agent pulled and that cannot be loaded is an error of its load, and nothing else', async () => {
  const directory = makeRepository({})
  const served = await Served.start([], { repository: ModelRepository.open(directory), modelControl: 'explicit' })
  const agent = new Agent(directory, served)
  expect(await agent.add('good', storageOf(2))).toBe(200)
  const broken = makeRepository({ 'model.json': faulty(0), '1/libfaulty.so': 'no library' })
  expect(await agent.add('broken', broken)).toBe(500)
  expect((await served.infer('broken', request))[0]).toBe(503)
  expect((await served.infer('good', request))[0]).toBe(200)
  expect(await agent.remove('broken')).toBe(200)
  expect((await served.post('/v2/repository/index', {}))[1]).toMatchObject([{ name: 'good', state: 'READY' }])
})

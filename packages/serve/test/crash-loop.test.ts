import { eventually } from '@tenon/config/eventually'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { HealthCheckResponse_ServingStatus, Health } from '../src/generated/health_pb.js'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel, ModelRepository, type ModelSource } from '../src/index.ts'
import { ModelControl } from '../src/service/model-control.ts'
import { ModelRegistry } from '../src/service/model-registry.ts'
import { CRASH_LOOP } from '../src/service/fault-of.ts'
import type { ServedModel } from '../src/service/served-model.ts'
import { Caller } from './caller.ts'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { input, type Served } from './support.ts'

const request = { inputs: [input('x', 'FP32', [2], [1, 2])] }

/** The library `faulty` with its fault 1 ends its process by SIGSEGV. */
async function start(): Promise<Caller> {
  const folder = makeRepository({
    'crash/model.json': faulty(1),
    'crash/1/libfaulty.so': { copy: libfaulty },
    'double/model.json': faulty(0),
    'double/1/libfaulty.so': { copy: libfaulty },
  })
  return Caller.start([], { repository: ModelRepository.open(folder), modelControl: 'explicit' })
}

async function crashUntilLoop(served: Served): Promise<unknown> {
  for (;;) {
    const [status, json] = await served.infer('crash', request)
    if (status === 503) return json
    expect(status).toBe(500)
  }
}

const statesOf = async (served: Served): Promise<unknown> => {
  const [, index] = await served.post('/v2/repository/index', {})
  return (index as { name: string; state: string }[]).map(({ name, state }) => [name, state])
}

describe('a crash loop', () => {
  /** A control of one model with two versions, and what it loads. */
  function controlled() {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const load = vi.fn<ModelSource['load']>(async () => {
      const versions = ['1', '2'].map((version) =>
        defineModel({ name: 'm', version, signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x }),
      )
      return { models: versions, closeAsync: async () => {} }
    })
    const registry = new ModelRegistry()
    const control = new ModelControl(registry, { names: () => ['m'], load }, true, 2 ** 20)
    const find = (version: string): ServedModel => registry.find('m', version)
    return { control, registry, load, find, state: () => registry.entry('m').state }
  }

  test('of two versions is one attempt to load them again, with the overrides of the client', async () => {
    const { control, load, find } = controlled()
    await control.load('m', { instances: 3 })
    find('1').fault = CRASH_LOOP
    await vi.advanceTimersByTimeAsync(10_000)
    find('2').fault = CRASH_LOOP
    await vi.advanceTimersByTimeAsync(60_000)
    expect(load.mock.calls).toEqual([
      ['m', { instances: 3 }],
      ['m', { instances: 3 }],
    ])
  })

  test('of two versions loads nothing after an unload, and nothing after the end', async () => {
    for (const end of ['unload', 'closeAsync'] as const) {
      const { control, load, find, state } = controlled()
      await control.load('m', {})
      find('1').fault = CRASH_LOOP
      find('2').fault = CRASH_LOOP
      await control[end]('m')
      await vi.advanceTimersByTimeAsync(60_000)
      expect([load.mock.calls.length, state()]).toEqual([1, 'UNAVAILABLE'])
    }
  })

  test('of a version that was replaced or unloaded loads nothing', async () => {
    const { control, load, find, state } = controlled()
    await control.load('m', {})
    const replaced = find('1')
    await control.load('m', {})
    const unloaded = find('1')
    replaced.fault = CRASH_LOOP
    await control.unload('m')
    unloaded.fault = CRASH_LOOP
    await vi.advanceTimersByTimeAsync(60_000)
    expect([load.mock.calls.length, state()]).toEqual([2, 'UNAVAILABLE'])
  })

  test('loads nothing if its attempt waits behind an unload, a load or the end', async () => {
    for (const [change, loads] of [
      ['unload', 1],
      ['load', 2],
      ['closeAsync', 1],
    ] as const) {
      const { control, load, find } = controlled()
      await control.load('m', {})
      const served = find('1')
      let finish = (): void => {}
      // The turn of the change does not end before the attempt is queued.
      if (change === 'load') {
        const first = load.getMockImplementation()!
        load.mockImplementationOnce(async (name) => (await new Promise<void>((done) => (finish = done)), first(name)))
      } else {
        served.enter()
        finish = () => served.leave()
      }
      served.fault = CRASH_LOOP
      await vi.advanceTimersByTimeAsync(29_999)
      const changed = change === 'load' ? control.load('m', {}) : control[change]('m')
      if (change !== 'load') served.onFault?.()
      await vi.advanceTimersByTimeAsync(60_000)
      finish()
      await changed
      await vi.advanceTimersByTimeAsync(60_000)
      expect([change, load.mock.calls.length]).toEqual([change, loads])
    }
  })

  test('that follows another one waits twice as long, up to ten minutes, until a client loads the model', async () => {
    const { control, load, find } = controlled()
    const crashAfterLoad = async (wait: number): Promise<void> => {
      const before = load.mock.calls.length
      find('1').fault = CRASH_LOOP
      await vi.advanceTimersByTimeAsync(wait - 1)
      expect([wait, load.mock.calls.length]).toEqual([wait, before])
      await vi.advanceTimersByTimeAsync(1)
      expect([wait, load.mock.calls.length]).toEqual([wait, before + 1])
    }
    await control.load('m', {})
    for (const seconds of [30, 60, 120, 240, 480, 600, 600]) await crashAfterLoad(1000 * seconds)
    await control.load('m', {})
    await crashAfterLoad(30_000)
    // A model that ran for long begins anew.
    await vi.advanceTimersByTimeAsync(700_000)
    await crashAfterLoad(30_000)
  })

  test('is still tried again after a client could not load its model', async () => {
    const { control, load, find } = controlled()
    await control.load('m', {})
    find('1').fault = CRASH_LOOP
    load.mockRejectedValueOnce(new Error('x'))
    await expect(control.load('m', {})).rejects.toThrow('x')
    await vi.advanceTimersByTimeAsync(30_000)
    expect([load.mock.calls.length, find('1').fault]).toEqual([3, undefined])
  })
})

// Workers need Linux.
if (process.platform === 'linux')
  describe('processes that crash again and again', { timeout: 60_000 }, () => {
    test('make their model unavailable until it is loaded again, and leave the others alone', async () => {
      const caller = await start()
      const { served } = caller
      const { modelReady } = GRPCInferenceService.method
      for (const name of ['crash', 'double'])
        expect((await served.post(`/v2/repository/models/${name}/load`, {}))[0]).toBe(200)
      expect((await served.get('/v2/health/ready'))[0]).toBe(200)

      expect(await crashUntilLoop(served)).toEqual({ error: 'the model crash crashes again and again' })
      // The other model answers, so a load balancer must not take the server out.
      expect(await served.get('/v2/health/ready')).toEqual([200, { live: true, ready: true }])
      expect((await served.get('/v2/health/live'))[0]).toBe(200)
      expect(await served.get('/v2/models/crash/ready')).toEqual([503, { name: 'crash', ready: false }])
      expect((await served.get('/v2/models/double/ready'))[0]).toBe(200)
      expect((await caller.call(modelReady, { name: 'crash' })).ready).toBe(false)
      expect((await caller.call(modelReady, { name: 'double' })).ready).toBe(true)
      expect((await caller.call(Health.method.check, {})).status).toBe(HealthCheckResponse_ServingStatus.SERVING)
      expect(await statesOf(served)).toEqual([
        ['crash', 'UNAVAILABLE'],
        ['double', 'READY'],
      ])
      expect((await served.infer('double', request))[0]).toBe(200)
      const metrics = (await served.send('GET', '/metrics')).body.toString()
      expect(metrics).toMatch(/tenon_worker_restarts_total\{model="crash"\} [1-9]/)
      expect(metrics).toContain('tenon_worker_restarts_total{model="double"} 0')
      expect(metrics).toContain('nv_inference_request_failure{model="crash",version="1",reason="REJECTED"} 1')

      const restarts = /tenon_worker_restarts_total\{model="crash"\} (\d+)/.exec(metrics)![1]
      expect((await served.post('/v2/repository/models/double/unload', {}))[0]).toBe(200)
      expect(await served.get('/v2/health/ready')).toEqual([503, { live: true, ready: false }])
      expect((await caller.call(Health.method.check, {})).status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING)
      expect((await served.post('/v2/repository/models/crash/load', {}))[0]).toBe(200)
      expect((await served.get('/v2/health/ready'))[0]).toBe(200)
      // Counters do not go back when a model is loaded again.
      const after = (await served.send('GET', '/metrics')).body.toString()
      expect(after).toContain(`tenon_worker_restarts_total{model="crash"} ${restarts}\n`)
      expect((await served.infer('crash', request))[0]).toBe(500)
      expect((await served.post('/v2/repository/models/double/load', {}))[0]).toBe(200)
      expect((await served.infer('double', request))[0]).toBe(200)
      const last = (await served.send('GET', '/metrics')).body.toString()
      expect(last).toContain('nv_inference_request_success{model="double",version="1"} 2\n')
      expect(last).toContain('nv_inference_exec_count{model="double",version="1"} 2\n')
    })

    test('are started again after 30 seconds, unless the model was unloaded', async () => {
      const { served } = await start()
      await served.post('/v2/repository/models/crash/load', {})
      const timers = vi.spyOn(globalThis, 'setTimeout')
      await crashUntilLoop(served)
      // Requests have a deadline of the same length, but theirs began before.
      const reload = timers.mock.calls.findLast(([, delay]) => delay === 30_000)
      timers.mockRestore()
      expect(reload).toBeDefined()
      const cleared = vi.spyOn(globalThis, 'clearTimeout')
      ;(reload![0] as () => void)()
      await eventually(async () => expect(await statesOf(served)).toContainEqual(['crash', 'READY']))
      expect((await served.get('/v2/health/ready'))[0]).toBe(200)

      await crashUntilLoop(served)
      const before = cleared.mock.calls.length
      expect((await served.post('/v2/repository/models/crash/unload', {}))[0]).toBe(200)
      expect(cleared.mock.calls.length).toBeGreaterThan(before)
      expect(await statesOf(served)).toContainEqual(['crash', 'UNAVAILABLE'])
    })

    test('that find another file for their library make the model unavailable until it is loaded again', async () => {
      const folder = makeRepository({
        'double/model.json': faulty(0, { recycle: 1 }),
        'double/1/libfaulty.so': { copy: libfaulty },
      })
      const caller = await Caller.start([], { repository: ModelRepository.open(folder) })
      const { served } = caller
      expect((await served.infer('double', request))[0]).toBe(200)
      const path = join(folder, 'double/1/libfaulty.so')
      writeFileSync(`${path}.new`, 'text')
      renameSync(`${path}.new`, path)

      const answer = { error: 'the library of the model double was replaced' }
      await eventually(async () => expect(await served.infer('double', request)).toEqual([503, answer]))
      expect(await served.get('/v2/models/double/ready')).toEqual([503, { name: 'double', ready: false }])
      expect((await served.get('/v2/health/ready'))[0]).toBe(503)
      expect(await statesOf(served)).toEqual([['double', 'UNAVAILABLE']])
      const metrics = (await served.send('GET', '/metrics')).body.toString()
      expect(metrics).toMatch(/nv_inference_request_failure\{model="double",version="1",reason="REJECTED"\} [1-9]/)
      // A server whose models all crash ends. This one waits for a library that it can load.
      expect(served.server.isCrashed).toBe(false)
    })
  })

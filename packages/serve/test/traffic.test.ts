import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { defineModel, ModelRepository, type Model } from '../src/index.ts'
import { Traffic } from '../src/service/traffic.ts'
import { Caller } from './caller.ts'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { makeRepository } from './make-repository.ts'
import { input, Served } from './support.ts'

const version = (no: string): Model =>
  defineModel({ name: 'm', version: no, signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })

const request = { inputs: [input('x', 'FP32', [1], [7])] }

/** How many of some requests without a version each version has answered. */
async function counts(served: Served, requests: number): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: requests }, () => served.infer('m', request)))
  const versions = answers.map(([status, { model_version }]) => (status === 200 ? String(model_version) : status))
  return Object.fromEntries([...new Set(versions)].map((one) => [one, versions.filter((no) => no === one).length]))
}

describe('traffic of the versions of a model', () => {
  test('gives each version exactly its weight, evenly mixed', () => {
    for (const weights of [
      { 1: 90, 2: 10 },
      { 1: 1 },
      { 1: 3, 2: 0, 3: 7 },
      { 1: 1, 2: 1, 3: 1 },
      { 1: 499, 2: 501 },
    ]) {
      const traffic = new Traffic('m', weights, ['1', '2', '3'])
      const sum = Object.values(weights).reduce((a, b) => a + b)
      const chosen = Array.from({ length: 3 * sum }, () => traffic.next())
      for (let start = 0; start < chosen.length; start += sum) {
        const part = chosen.slice(start, start + sum)
        for (const [no, weight] of Object.entries(weights))
          expect(part.filter((one) => one === no)).toHaveLength(weight)
      }
      // No version is ever more than one request ahead of its share, or behind it.
      for (const [no, weight] of Object.entries(weights)) {
        let count = 0
        for (const [i, one] of chosen.entries()) {
          if (one === no) count++
          expect(Math.abs(count - ((i + 1) * weight) / sum)).toBeLessThanOrEqual(1)
        }
      }
    }
    const few = new Traffic('m', { 1: 3, 2: 1 }, ['1', '2'])
    expect(Array.from({ length: 8 }, () => few.next()).join('')).toBe('11211121')
  })

  test('changes from one request to the next, and leaves requests with a version alone', async () => {
    const served = await Served.start([version('1'), version('2'), version('3')])
    expect(await counts(served, 4)).toEqual({ 3: 4 })
    served.server.setTraffic('m', { 1: 90, 2: 10 })
    expect(await counts(served, 200)).toEqual({ 1: 180, 2: 20 })
    const named = await Promise.all([1, 2, 3].map((no) => served.infer(`m/versions/${no}`, request)))
    expect(named.map(([, { model_version }]) => model_version)).toEqual(['1', '2', '3'])
    expect(await counts(served, 10)).toEqual({ 1: 9, 2: 1 })
    // Questions about the model are no requests of the distribution, and are about the highest version.
    for (let i = 0; i < 7; i++) await served.get('/v2/models/m')
    expect(await counts(served, 10)).toEqual({ 1: 9, 2: 1 })

    const [, text] = await served.send('GET', '/metrics').then(({ status, body }) => [status, body.toString()] as const)
    expect(text).toContain('tenon_traffic_weight{model="m",version="1"} 90\n')
    expect(text).toContain('nv_inference_request_success{model="m",version="1"} 199\n')
    expect(text).toContain('nv_inference_request_success{model="m",version="2"} 23\n')

    served.server.setTraffic('m', { 2: 1 })
    expect(await counts(served, 5)).toEqual({ 2: 5 })
    served.server.setTraffic('m', undefined)
    expect(await counts(served, 5)).toEqual({ 3: 5 })
  })

  test('holds for gRPC, and for both transports together', async () => {
    const caller = await Caller.start([version('1'), version('2')])
    const { served } = caller
    served.server.setTraffic('m', { 1: 1, 2: 1 })
    const message = {
      modelName: 'm',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1n], contents: { fp32Contents: [7] } }],
    }
    const seen: string[] = []
    for (let i = 0; i < 4; i++) {
      const { modelVersion } = await caller.call(GRPCInferenceService.method.modelInfer, message)
      const [, { model_version }] = await served.infer('m', request)
      seen.push(modelVersion, String(model_version))
    }
    expect(seen.join('')).toBe('12121212')
  })

  test('is refused with what is wrong, and stays as it was', async () => {
    const served = await Served.start([version('1'), version('2')])
    const { server } = served
    server.setTraffic('m', { 1: 1 })
    const inherited = Object.create({ 1: 1 }) as Record<string, number>
    for (const [weights, text] of [
      [{ 1: 1, 3: 1 }, 'traffic must have weights of loaded versions of the model m, got "3"'],
      [JSON.parse('{"__proto__":1}'), 'loaded versions of the model m, got "__proto__"'],
      [{ 1: -1, 2: 5 }, 'the traffic of version 1 must be a whole number from 0 to 1000000, got -1'],
      [{ 1: Number.NaN }, 'the traffic of version 1 must be a whole number from 0 to 1000000, got NaN'],
      [{ 1: 0.5 }, 'the traffic of version 1 must be a whole number'],
      [{ 1: Infinity }, 'the traffic of version 1 must be a whole number'],
      [{ 1: 1_000_001 }, 'the traffic of version 1 must be a whole number from 0 to 1000000, got 1000001'],
      [{ 1: '90' }, 'the traffic of version 1 must be a whole number'],
      [{ 1: 0, 2: 0 }, 'traffic must have a weight above 0 for a version of the model m'],
      [{}, 'traffic must have a weight above 0'],
      [inherited, 'traffic must have a weight above 0'],
      [[90, 10], 'traffic must be an object of weights by version, got an array'],
      [null, 'traffic must be an object of weights by version, got null'],
      ['90', 'traffic must be an object of weights by version'],
    ] as const) {
      expect(() => server.setTraffic('m', weights as never)).toThrow(text)
    }
    expect(() => server.setTraffic('other', { 1: 1 })).toThrow('there is no model "other"')
    expect(await counts(served, 3)).toEqual({ 1: 3 })
  })
})

const softmax = { library: 'libkernels.so', kernel: 'softmax', signature: '(x: f32[r, c]) -> (y: f32[r, c])' }
const files = (traffic: object | undefined) =>
  makeRepository({
    'm/model.json': { ...softmax, traffic },
    'm/1/libkernels.so': { copy: kernelLibrary('kernels') },
    'm/2/libkernels.so': { copy: kernelLibrary('kernels') },
  })
const ofSoftmax = { inputs: [input('x', 'FP32', [1, 1], [7])] }

describe('traffic of a repository', () => {
  test('comes from model.json, is changed by requests, and begins again with each load', async () => {
    const repository = ModelRepository.open(files({ 1: 3, 2: 1 }))
    const served = await Served.start([], { repository, modelControl: 'explicit' })
    const path = '/v2/repository/models/m/traffic'
    expect(await served.get(path)).toEqual([503, { error: expect.stringContaining('the model m is not loaded') }])
    await served.post('/v2/repository/models/m/load', {})
    expect(await served.get(path)).toEqual([200, { name: 'm', traffic: { 1: 3, 2: 1 } }])
    const infer = async (): Promise<unknown> => (await served.infer('m', ofSoftmax))[1]['model_version']
    expect([await infer(), await infer(), await infer(), await infer()]).toEqual(['1', '1', '2', '1'])

    expect(await served.post(path, { traffic: { 2: 1 } })).toEqual([200, { name: 'm', traffic: { 2: 1 } }])
    expect([await infer(), await infer(), await infer()]).toEqual(['2', '2', '2'])
    for (const [body, text] of [
      [{}, 'the request must have the field traffic'],
      [{ traffic: { 3: 1 } }, 'loaded versions of the model m, got "3". Its versions are 1, 2.'],
      [{ traffic: { 1: 0 } }, 'a weight above 0'],
      [{ traffic: { 1: -5, 2: 5 } }, 'a whole number from 0'],
      [{ traffic: [1] }, 'an object of weights'],
    ] as const) {
      expect(await served.post(path, body)).toEqual([400, { error: expect.stringContaining(text) }])
    }
    expect(await served.post('/v2/repository/models/x/traffic', { traffic: { 1: 1 } })).toMatchObject([404, {}])
    expect(await infer()).toBe('2')
    expect(await served.post(path, { traffic: null })).toEqual([200, { name: 'm', traffic: null }])
    expect(await infer()).toBe('2')

    await served.post('/v2/repository/models/m/load', {})
    expect(await served.get(path)).toEqual([200, { name: 'm', traffic: { 1: 3, 2: 1 } }])
  })

  test('is not changed by requests unless the server says so', async () => {
    const served = await Served.start([], { repository: ModelRepository.open(files(undefined)) })
    const path = '/v2/repository/models/m/traffic'
    expect(await served.post(path, { traffic: { 1: 1 } })).toEqual([
      501,
      { error: expect.stringContaining('explicit') },
    ])
    expect(await served.get(path)).toEqual([200, { name: 'm', traffic: null }])
  })

  test('fails the load if it is not valid', async () => {
    for (const [traffic, text] of [
      [{ 3: 1 }, `failed to load 'm': traffic must have weights of loaded versions of the model m, got "3"`],
      [{ 1: 0 }, `failed to load 'm': traffic must have a weight above 0`],
      [{ 1: '90' }, 'the field traffic.1 must be of the kind number, got "90"'],
    ] as const) {
      await expect(Served.start([], { repository: ModelRepository.open(files(traffic)) })).rejects.toThrow(text)
    }
  })
})

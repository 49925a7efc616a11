import { eventually } from '@tenon/config/eventually'
import type { Tensor } from 'tenon'
import { describe, expect, test } from 'vitest'
import { defineModel, definePipeline, PipelineStepError } from '../src/index.ts'
import { libfaulty } from './make-repository.ts'
import { add, chain, isolate, kernel, one, request, signature, sum, ten } from './pipeline-models.ts'
import { Served } from './support.ts'

describe('a step that fails', () => {
  test('is one error that names it, with the status of its own error', async () => {
    const library = await isolate(libfaulty)
    const fail = defineModel({
      name: 'fail',
      signature,
      run: () => {
        throw new Error('no weights')
      },
    })
    const full = add('full', 0, {
      batching: { defaultQueuePolicy: { maxQueueSize: 1 } },
      run: () => new Promise(() => {}),
    })
    const crash = kernel(library, 'crash', 1, { idempotent: false })
    const hang = kernel(library, 'hang', 8, { deadline: 100 })
    const four = defineModel({ name: 'four', signature: '(x: f32[4]) -> (y: f32[4])', run: ({ x }) => x })
    const pipelines = ['fail', 'crash', 'hang', 'four'].map((name) =>
      chain(['one', name, 'ten'], { name: `of_${name}` }),
    )
    const served = await Served.start([...pipelines, one, ten, fail, full, crash, hang, four])
    for (const [name, status, text] of [
      ['fail', 500, 'step 2 (fail) of the pipeline of_fail: the model fail failed'],
      ['crash', 500, 'step 2 (crash) of the pipeline of_crash: the model crash ended its process by SIGSEGV'],
      ['hang', 504, 'step 2 (hang) of the pipeline of_hang: the model hang did not answer within 100 ms'],
      ['four', 400, 'step 2 (four) of the pipeline of_four: x of four must be float32[4], got float32[2]'],
    ] as const) {
      const [seen, json] = await served.infer(`of_${name}`, request(1, 2))
      expect([seen, json['error']]).toEqual([status, expect.stringContaining(text)])
    }
    expect(served.errors).toHaveLength(4)
    const [error] = served.errors as [PipelineStepError]
    expect(error).toBeInstanceOf(PipelineStepError)
    expect(error.message).toContain('step 2 (fail) of the pipeline of_fail failed: no weights')
    expect(error.details).toEqual({ pipeline: 'of_fail', step: 2, model: 'fail', version: '1' })
    expect(error.cause).toEqual(new Error('no weights'))
    const { body } = await served.send('GET', '/metrics')
    const text = body.toString()
    expect(text).toContain('nv_inference_request_failure{model="crash",version="1",reason="BACKEND"} 1\n')
    expect(text).toContain('nv_inference_request_failure{model="of_crash",version="1",reason="BACKEND"} 1\n')
    expect(text).toContain('nv_inference_request_failure{model="of_four",version="1",reason="OTHER"} 1\n')
    expect(await served.infer('of_four', request(1, 2, 3, 4))).toMatchObject([200, {}])
    await eventually(() => expect(library.memory.usage.usedBytes).toBe(0))
  })

  test('cancels the other steps, and no later ones begin', async () => {
    const library = await isolate(libfaulty, 2)
    const seen: string[] = []
    const wait = defineModel({
      name: 'wait',
      signature,
      run: ({ x }, { signal }) =>
        new Promise<Tensor<'float32'>>((resolve) =>
          signal.addEventListener('abort', () => {
            seen.push('aborted')
            resolve(x)
          }),
        ),
    })
    const late = add('late', 0, { run: ({ x }) => (seen.push('late'), x) })
    const pipeline = definePipeline({
      name: 'p',
      signature: '(x: f32[n]) -> (z: f32[n])',
      steps: [
        { model: 'wait', inputs: { x: 'x' }, outputs: { y: 'left' } },
        { model: 'crash', inputs: { x: 'x' }, outputs: { y: 'right' } },
        { model: 'late', inputs: { x: 'left' }, outputs: { y: 'later' } },
        { model: 'sum', inputs: { a: 'later', b: 'right' }, outputs: { sum: 'z' } },
      ],
    })
    const served = await Served.start([pipeline, wait, late, sum, kernel(library, 'crash', 1, { idempotent: false })])
    const [status, { error }] = await served.infer('p', request(1))
    expect([status, error]).toEqual([500, expect.stringContaining('step 2 (crash) of the pipeline p')])
    await eventually(() => expect(seen).toEqual(['aborted']))
    await eventually(() => expect(library.memory.usage.usedBytes).toBe(0))
    expect(await served.infer('p', request(1))).toMatchObject([500, {}])
  })

  test('is also the one that runs at the deadline of the whole, which is less than the sum of theirs', async () => {
    const library = await isolate(libfaulty)
    const sleep = kernel(library, 'sleep', 29) // 50 ms
    const served = await Served.start([
      chain(
        Array.from({ length: 40 }, () => 'sleep'),
        { deadline: 120 },
      ),
      sleep,
    ])
    const [status, { error }] = await served.infer('chain', request(1))
    expect([status, error]).toEqual([
      504,
      expect.stringMatching(/^step \d+ \(sleep\) of the pipeline chain: the model chain did not answer within 120 ms$/),
    ])
    await eventually(() => expect(library.memory.usage.usedBytes).toBe(0))
    await eventually(() => expect(library.metrics().running).toBe(0))
  })

  test('is cancelled when the client leaves', async () => {
    const library = await isolate(libfaulty)
    const hang = kernel(library, 'hang', 25) // until it is cancelled
    const served = await Served.start([chain(['one', 'hang', 'ten']), one, ten, hang])
    const controller = new AbortController()
    const asked = fetch(`http://127.0.0.1:${served.server.port}/v2/models/chain/infer`, {
      method: 'POST',
      body: JSON.stringify(request(1)),
      signal: controller.signal,
    }).catch(() => 'left')
    await eventually(() => expect(library.metrics().running).toBe(1))
    controller.abort()
    expect(await asked).toBe('left')
    await eventually(() => expect(library.metrics().running).toBe(0))
    await eventually(() => expect(library.memory.usage.usedBytes).toBe(0))
    const { body } = await served.send('GET', '/metrics')
    expect(body.toString()).toContain('nv_inference_request_failure{model="chain",version="1",reason="CANCELED"} 1\n')
  })
})

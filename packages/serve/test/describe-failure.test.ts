import { LoadError, NativeError, tensor, UnsupportedError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel, ModelLoadError } from '../src/index.ts'
import { describeFailure } from '../src/service/describe-failure.ts'
import { Caller } from './caller.ts'
import { input } from './support.ts'

describe('describeFailure() names files without their folders', () => {
  const spaced = '/srv/my models/lib.so'
  test.each([
    [new LoadError('the library /srv/secret/lib.so does not exist'), 'the library lib.so does not exist'],
    [new LoadError('cannot open "/weights.bin"'), 'cannot open "weights.bin"'],
    [
      new NativeError("Cannot find '/a/b.js' imported from file:///srv/m/model.ts?12"),
      "Cannot find 'b.js' imported from model.ts?12",
    ],
    [new LoadError(`the library ${spaced} is old`, { details: { path: spaced } }), 'the library lib.so is old'],
    [
      new LoadError(`cannot load ${spaced}`, { cause: new LoadError('no', { details: { path: spaced } }) }),
      'cannot load lib.so',
    ],
    // Text that only looks like a path stays.
    [new NativeError('n/a, 1/2 and ~/x of http://host/v2'), 'n/a, 1/2 and ~/x of http://host/v2'],
  ])('%s', (error, text) => {
    expect(describeFailure(error, 'm')).toEqual({ kind: 'failed', message: `the model m failed: ${text}` })
  })

  test('in hints, and when a model cannot be loaded', () => {
    const unsupported = new UnsupportedError('no', { hint: 'Read /srv/secret/readme.' })
    expect(describeFailure(unsupported)).toEqual({ kind: 'unsupported', message: 'no. Read readme.' })
    const load = new ModelLoadError("failed to load 'm': /srv/secret/lib.so is a text", {})
    expect(describeFailure(load)).toEqual({ kind: 'failed', message: "failed to load 'm': lib.so is a text" })
  })
})

test('a function that closes the memory of its inputs fails its own request only', async () => {
  const closing = defineModel({
    name: 'closing',
    signature: '(x: f32[n]) -> (y: f32[n])',
    run: ({ x }, { parameters }) => {
      ;(x.segment.lifetime as unknown as { close(): void }).close()
      return parameters['other'] === true ? tensor('f32', [1], [7]) : x
    },
  })
  const batched = defineModel({
    name: 'batched',
    signature: '(x: f32[rows]) -> (y: f32[rows])',
    maxBatchSize: 4,
    run: async ({ x }) => {
      ;(x.segment.lifetime as unknown as { close(): void }).close()
      return x
    },
  })
  const caller = await Caller.start([closing, batched])
  const { served } = caller
  const request = { inputs: [input('x', 'FP32', [1], [1])] }
  for (let i = 0; i < 2; i++) {
    for (const name of ['closing', 'batched']) {
      expect(await served.infer(name, request)).toEqual([500, { error: expect.stringContaining('failed') as string }])
      const message = {
        modelName: name,
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1n], contents: { fp32Contents: [1] } }],
      }
      expect((await caller.errorOf(GRPCInferenceService.method.modelInfer, message))[0]).toBe('INTERNAL')
    }
    const answer = await served.infer('closing', { ...request, parameters: { other: true } })
    expect(answer).toMatchObject([200, { outputs: [{ data: [7] }] }])
  }
})

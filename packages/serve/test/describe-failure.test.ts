import { LoadError, NativeError, NativeLibrary, tensor, UnsupportedError } from '@tenon/core'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
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
    [new NativeError('open \'/srv/my models/a b.bin\' ("/srv/x y")'), 'open \'a b.bin\' ("x y")'],
    [new LoadError('no srv/m/lib.so', { details: { path: 'srv/m/lib.so' } }), 'no lib.so'],
    [new NativeError('returned 0x7f12ab345678, not 0x2a'), 'returned an address, not 0x2a'],
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

test('describeFailure() names no folder of a library that cannot be loaded', () => {
  const directory = mkdtempSync(join(tmpdir(), 'two words-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'lib.so')
  writeFileSync(path, 'text')
  for (const name of [path, relative('.', path)]) {
    let error: unknown
    try {
      NativeLibrary.open(name)
    } catch (caught) {
      error = caught
    }
    expect(describeFailure(error, 'm').message).toMatch(/^the model m failed: cannot load lib\.so: the file is/)
  }
})

test('describeFailure() describes an error whose members throw', () => {
  const error = Object.defineProperty(new NativeError('x'), 'sentence', {
    get() {
      throw new Error('on purpose')
    },
  })
  expect(describeFailure(error, 'm')).toEqual({ kind: 'failed', message: 'the model m failed' })
  expect(describeFailure(error)).toEqual({ kind: 'failed', message: 'the server failed' })
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

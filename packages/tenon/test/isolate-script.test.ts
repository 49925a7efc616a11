import { fileURLToPath } from 'node:url'
import { tensor, KernelDeadlineError, type Tensor } from '@tenon/core'
import { KernelCrashError } from '@tenon/isolate'
import { UnknownError } from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { StringTensor } from '@tenon/tstring'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library, type IsolatedLibrary } from '../src/index.ts'
import { errorOf } from './isolated.ts'

const path = fileURLToPath(new URL('isolation/script-kernels.ts', import.meta.url))
const row = '(x: f32[n]) -> (y: f32[n])'
let library: IsolatedLibrary

beforeAll(async () => {
  library = await Library.isolate(path, { host: 'node', restart: { limit: 100, backoff: 0 } })
})
afterAll(async () => library.closeAsync())

describe("kernels in TypeScript, with host: 'node'", () => {
  test('run with operands, attributes and options', async () => {
    const scale = library.kernel('scale', { signature: `${row}; factor: f32 = 2` })
    expect(scale(tensor([1, 2, 3])).toArray()).toEqual([2, 4, 6])
    expect((await scale.async(tensor([1]), { factor: -1 }, { deadline: 20_000 })).toArray()).toEqual([-1])
    const settled = await scale.batch([[tensor([1])], [tensor([2]), { factor: 3 }]])
    expect(settled.map((one) => (one.status === 'fulfilled' ? one.value.toArray() : one))).toEqual([[2], [6]])
    const into = tensor('f32', [2])
    expect(scale(tensor([1, 2]), {}, { into })).toBe(into)
    expect(into.toArray()).toEqual([2, 4])
    const later = library.kernel('later', { signature: row })
    expect(later(tensor([4])).toArray()).toEqual([8])
  })

  test('receive attributes of all types', () => {
    const signature =
      '() -> (text: u8[256]); a: s32, b: s64, c: u64, d: pred, e: string, f: f64[], g: { low: f32, high: s64 }, h: enum("x", "y")'
    const text = library.kernel('describe', { signature })({
      a: 300,
      b: -(2n ** 40n),
      c: 2n ** 64n - 1n,
      d: true,
      e: 'ß',
      f: [1, 2.5],
      g: { low: 0.5, high: 5n },
      h: 'y',
    })
    const json = Buffer.from(text.view() as Uint8Array)
      .toString()
      .replace(/\0+$/, '')
    expect(JSON.parse(json)).toEqual({
      a: 300,
      b: '-1099511627776n',
      c: '18446744073709551615n',
      d: true,
      e: 'ß',
      f: [1, 2.5],
      g: { low: 0.5, high: '5n' },
      h: 'y',
    })
  })

  test.each(['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const)('receive strings of the layout %s', (layout) => {
    const lengths = library.kernel('lengths', { signature: `(text: string<${layout}>[n]) -> (size: s32[n])` })
    const texts = ['', 'ß', 'a text that does not fit into the struct of a string']
    expect(lengths(StringTensor.from(texts, { layout })).toArray()).toEqual([0, 2, 52])
  })

  test.each(['tf', 'rfc16', 'rfc24'] as const)('return strings of any length in the layout %s', async (layout) => {
    const signature = `(text: string[n]) -> (first: string<${layout}>[n], second: string<${layout}>[n]); times: s32`
    const texts = ['a', '', 'ü'.repeat(7), 'x'.repeat(23), 'y'.repeat(3000)]
    for (const name of ['repeat', 'repeatLater']) {
      const repeat = library.kernel(name, { signature })
      for (const times of [0, 1, 2, 50]) {
        const made = repeat(StringTensor.from(texts), { times }) as unknown as Record<string, StringTensor>
        const later = (await repeat.async(StringTensor.from(texts), { times })) as unknown as typeof made
        for (const { first, second } of [made, later] as { first: StringTensor; second: StringTensor }[]) {
          expect([first, second].map((one) => [one instanceof StringTensor, one.layout])).toEqual([
            [true, layout],
            [true, layout],
          ])
          expect(first.toArray()).toEqual(texts.map((text) => text.repeat(times)))
          expect(second.toArray()).toEqual(texts)
        }
      }
    }
  })

  test('return strings in memory of the option allocator, and calls in flight together have their own', async () => {
    const repeat = library.kernel('repeatLater', { signature: '(text: string[n]) -> (out: string[n]); times: s32' })
    const scope = NativeScope.ofConfined()
    const own = repeat(StringTensor.from(['abc']), { times: 20 }, { allocator: scope }) as unknown as StringTensor
    expect(own.toArray()).toEqual(['abc'.repeat(20)])
    scope.close()
    expect(() => own.get(0)).toThrow('closed')
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => repeat.async(StringTensor.from([`${i}`, 'long']), { times: 20 + i })),
    )
    all.forEach((out, i) => {
      expect((out as unknown as StringTensor).toArray()).toEqual([`${i}`.repeat(20 + i), 'long'.repeat(20 + i)])
    })
  })

  test.each([
    ['damage', 'ArgumentError', 'result 0 must have valid strings'],
    ['throw', 'RangeError', 'no luck'],
  ])('fail if they %s the strings of a result', async (how, name, message) => {
    const spoil = library.kernel('spoil', { signature: '(text: string[n]) -> (out: string[n]); how: string' })
    const error = await errorOf(() => spoil(StringTensor.from(['a']), { how }))
    expect(error.cause).toMatchObject({ name })
    expect(error.message).toContain(message)
    expect((spoil(StringTensor.from(['a']), { how: 'close' }) as unknown as StringTensor).get(0)).toBe('a'.repeat(100))
  })

  test('leave no strings in their process', async () => {
    const repeat = library.kernel('repeat', { signature: '(text: string[n]) -> (out: string[n]); times: s32' })
    const size = (): number =>
      Number((library.kernel('memory', { signature: '() -> (size: f64[1])' })() as Tensor).toArray()[0])
    const run = (): void => void repeat(StringTensor.from(['x'.repeat(1 << 10)]), { times: 1 << 10 })
    for (let i = 0; i < 10; i++) run()
    const before = size()
    for (let i = 0; i < 200; i++) run()
    // A MiB that each call kept would be 200.
    expect(size() - before).toBeLessThan(20)
  })

  test('that throw are errors of the call, with the thrown error as the cause', async () => {
    const error = await errorOf(() => library.kernel('fail', { signature: row })(tensor([1])))
    expect(error).toBeInstanceOf(UnknownError)
    expect(error).toMatchObject({
      sentence: 'fail answered UNKNOWN: failed on purpose',
      cause: { name: 'RangeError', message: 'failed on purpose' },
      details: { worker: { index: 0 } },
    })
    expect((error.cause as Error).stack).toContain('script-kernels.ts')
  })

  test('that spin or end their process are errors of the call', async () => {
    const spin = library.kernel('spin', { signature: row })
    expect(await errorOf(() => spin(tensor([1]), { deadline: 200 }))).toBeInstanceOf(KernelDeadlineError)
    const exit = library.kernel('exit', { signature: row })
    const error = await errorOf(async () => exit.async(tensor([1])))
    expect(error).toBeInstanceOf(KernelCrashError)
    expect(error.details).toMatchObject({ exitCode: 7 })
    expect(
      library
        .kernel('scale', { signature: `${row}; factor: f32` })(tensor([2]), { factor: 2 })
        .toArray(),
    ).toEqual([4])
  })

  test('need a signature, and exist in the module', async () => {
    expect(() => library.kernel('scale', { convention: 'typed' })).toThrow('scale must have a signature')
    const absent = library.kernel('absent', { signature: row })
    const error = await errorOf(() => absent(tensor([1])))
    expect(error.message).toContain('the module must export a function absent')
    expect(() => library.kernel('scale', { signature: `${row}; at: pointer` })).toThrow(
      'at of scale must not be an address',
    )
    const missing = await errorOf(async () => Library.isolate('/nowhere/kernels.ts', { host: 'node' }))
    expect(missing.code).toBe('TENON_LOAD')
  })
})

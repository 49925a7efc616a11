import { fileURLToPath } from 'node:url'
import { tensor, KernelDeadlineError } from '@tenon/core'
import { KernelCrashError } from '@tenon/isolate'
import { UnknownError } from '@tenon/custom-call'
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

  test.each([
    ['tf', 22],
    ['rfc16', 15],
    ['rfc24', 23],
  ] as const)('return strings of the layout %s that fit into their structs, of %i bytes', async (layout, most) => {
    const upper = library.kernel('upper', { signature: `(text: string[n]) -> (capitals: string<${layout}>[n])` })
    const capitals = upper(StringTensor.from(['a', '', 'ü'.repeat(7), 'x'.repeat(most)])) as unknown as StringTensor
    expect(capitals).toBeInstanceOf(StringTensor)
    expect([capitals.layout, capitals.toArray()]).toEqual([layout, ['A', '', 'Ü'.repeat(7), 'X'.repeat(most)]])
    const error = await errorOf(() => upper(StringTensor.from(['x'.repeat(most + 1)])))
    expect(error.cause).toMatchObject({ name: 'TensorLimitError' })
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

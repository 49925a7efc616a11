import { tensor } from '@tenon/core'
import { isStringTensor } from '@tenon/core/internal'
import { getGlobal, Module, packedFunc, registerGlobal, removeGlobal, type PackedFunc } from '@tenon/packed-func'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NativeScope } from '../../src/entries/scope.ts'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library } from '../../src/index.ts'
import { errorOf } from '../isolated.ts'
import { compileKernels, TEXTS, twiceOf } from './library.ts'

const path = compileKernels()
let module: Module
let apply: PackedFunc
beforeAll(() => {
  module = Module.open(path)
  apply = module.get('apply')
})
afterAll(() => module.close())

const words = StringTensor.from(TEXTS)
const twice = (text: StringTensor): StringTensor => StringTensor.from(twiceOf(text.toArray()))

describe('a packed function in TypeScript', () => {
  test('gets string tensors as copies, and returns them', () => {
    const seen: StringTensor[] = []
    using run = packedFunc((text: StringTensor) => {
      seen.push(text)
      return twice(text)
    })
    for (const storage of ['arena', 'packed', 'malloc'] as const) {
      using own = StringTensor.from(TEXTS, { storage })
      for (const made of [run(own), apply(run, own)] as StringTensor[]) {
        expect(made).toBeInstanceOf(StringTensor)
        expect(made.toArray()).toEqual(twiceOf(TEXTS))
      }
    }
    expect(seen).toHaveLength(6)
    expect(seen.every((text) => text instanceof StringTensor && text.toArray().join() === TEXTS.join())).toBe(true)
    seen[0]!.set(0, 'changed')
    expect(words.get(0)).toBe('')
  })

  test.each(['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const)('gets strings of the layout %s', (layout) => {
    using run = packedFunc((text: StringTensor) => [text.layout, text.shape.join(), text.get(5)])
    const made = run(StringTensor.from(TEXTS, { layout, shape: [2, 3] }))
    expect([...(made as Iterable<unknown>)]).toEqual([layout, '2,3', TEXTS[5]])
  })

  test('is registered, and gets string tensors in containers', () => {
    registerGlobal('test.strings', (texts: Iterable<StringTensor>) =>
      [...texts].map((text) => (isStringTensor(text) ? text.length : -1)).join(),
    )
    expect(getGlobal('test.strings')([words, StringTensor.from([]), tensor([1])])).toBe('6,0,-1')
    removeGlobal('test.strings')
  })

  test('returns a string tensor whose memory the caller may keep after the scope has closed', () => {
    using scope = NativeScope.ofConfined()
    using run = packedFunc(() => StringTensor.from(TEXTS, { allocator: scope }))
    const made = run() as StringTensor
    scope.close()
    expect(made.toArray()).toEqual(TEXTS)
  })

  test('waits on its own thread for calls of another thread', async () => {
    using run = packedFunc(twice as never, { relay: true })
    expect(((await run.async(words)) as StringTensor).toArray()).toEqual(twiceOf(TEXTS))
  })
})

test('native code gets the bytes of a string tensor', () => {
  using run = packedFunc((text: StringTensor) => text)
  const bytes = apply(
    packedFunc((x: unknown) => isStringTensor(x)),
    words,
  )
  expect(bytes).toBe(true)
  expect((apply(run, words) as StringTensor).segment.byteSize).toBeGreaterThan(24 * 6)
  const sizes = tensor('s32', [6])
  module.get('packed_sizes')(words, sizes)
  expect(sizes.toArray()).toEqual(TEXTS.map((text) => Buffer.byteLength(text)))
})

test('strings that native code has damaged are refused', async () => {
  const overwrite = module.get('overwrite')
  expect((overwrite(words, 0) as StringTensor).toArray()).toEqual(TEXTS.map(() => ''))
  const error = await errorOf(() => overwrite(words, 0xff))
  expect(error.message).toContain('a string tensor must have valid strings')
  expect(words.toArray()).toEqual(TEXTS)
})

test.each([
  ['an object like a string tensor', { layout: 'tf', shape: [6], segment: words.segment }],
  ['a proxy of one', new Proxy(words, {})],
])('%s is refused', async (_, value) => {
  using run = packedFunc(() => null)
  const error = await errorOf(() => run(value as never))
  expect(error.message).toContain('argument 1: a packed function cannot take')
})

test('string tensors whose memory is closed are refused', async () => {
  using run = packedFunc(() => null)
  const scope = NativeScope.ofConfined()
  const own = StringTensor.from(TEXTS, { allocator: scope })
  scope.close()
  expect((await errorOf(() => run(own))).code).toBe('TENON_SCOPE_CLOSED')
})

test('a packed function in another process refuses string tensors, and the hint names the signature', async () => {
  await using library = await Library.isolate(path)
  const error = await errorOf(() => library.packed('apply')(words as never))
  expect(error.message).toContain('a packed function in another process cannot take an object of class StringTensor')
  expect(error.hint).toContain("library.kernel(name, { signature: '(text: string[n]) -> (ids: s32[n])' })")
})

test('calls leave no memory', async () => {
  const large = StringTensor.from(['x'.repeat(1 << 20)], { storage: 'packed' })
  using run = packedFunc(twice as never)
  const buffers = async (): Promise<number> => {
    for (let i = 0; i < 3; i++) {
      globalThis.gc!()
      // References to objects are released from the event loop.
      await new Promise((resolve) => setImmediate(resolve))
    }
    return process.memoryUsage().arrayBuffers / 2 ** 20
  }
  run(large)
  const before = await buffers()
  for (let i = 0; i < 40; i++) run(large)
  // Three MiB that each call kept would be 120.
  expect((await buffers()) - before).toBeLessThan(20)
})

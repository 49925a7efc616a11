import { tensor, type Tensor } from '@tenon/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NativeScope } from '../../src/entries/scope.ts'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library, type Kernel } from '../../src/index.ts'
import { compileKernels, sizesOf, TEXTS, twiceOf } from './library.ts'

const path = compileKernels()
let library: Library
beforeAll(() => {
  library = Library.open(path)
})
afterAll(() => library.close())

const kernel = (name: string): Kernel<unknown> => library.kernel(name) as unknown as Kernel<unknown>
const count = tensor('s64', [], [BigInt(TEXTS.length)])

const storages = ['arena', 'packed', 'malloc'] as const

describe.each([
  ['typed', 'sizes', 'twice', []],
  ['host', 'host_sizes', 'host_twice', [count]],
  ['packed', 'packed_sizes', 'packed_twice', []],
])('a %s kernel', (_, sizes, twice, more) => {
  test.each(storages)('reads strings in %s storage', async (storage) => {
    using words = StringTensor.from(TEXTS, { storage })
    expect((kernel(sizes)(words, ...more) as Tensor).toArray()).toEqual(sizesOf(TEXTS))
    expect(((await kernel(sizes).async(words, ...more)) as Tensor).toArray()).toEqual(sizesOf(TEXTS))
    expect(words.toArray()).toEqual(TEXTS)
  })

  test('reads a slice of packed strings', () => {
    const words = StringTensor.from(['x'.repeat(40), ...TEXTS, 'y'.repeat(40)], { storage: 'packed' }).slice(1, -1)
    expect((kernel(sizes)(words, ...more) as Tensor).toArray()).toEqual(sizesOf(TEXTS))
  })

  test('returns strings, which do not depend on the operand', async () => {
    using scope = NativeScope.ofConfined()
    const words = StringTensor.from(TEXTS, { allocator: scope })
    const made = kernel(twice)(words, ...more)
    const later = await kernel(twice).async(words, ...more)
    scope.close()
    for (const result of [made, later] as StringTensor[]) {
      expect(result).toBeInstanceOf(StringTensor)
      expect(result.toArray()).toEqual(twiceOf(TEXTS))
      result.set(0, 'a string that is longer than a struct')
      expect(result.get(0)).toBe('a string that is longer than a struct')
    }
  })

  test('returns strings in the memory of an allocator', () => {
    const words = StringTensor.from(TEXTS)
    const scope = NativeScope.ofConfined()
    const made = kernel(twice)(words, ...more, { allocator: scope }) as StringTensor
    expect(made.toArray()).toEqual(twiceOf(TEXTS))
    scope.close()
    expect(() => made.get(0)).toThrow('closed')
  })
})

test('strings have any shape, and results have the sizes of the signature', () => {
  const words = StringTensor.from(['a', 'bb', 'ccc', ''], { shape: [2, 2] })
  expect((kernel('sizes')(words) as Tensor).toNested()).toEqual([
    [1, 2],
    [3, 0],
  ])
  const made = kernel('twice')(words) as StringTensor
  expect(made.shape).toEqual([2, 2])
  expect(made.toArray()).toEqual(['aa', 'bbbb', 'cccccc', ''])
  const scalar = StringTensor.from(['abc'], { shape: [] })
  expect((kernel('sizes')(scalar) as Tensor).item()).toBe(3)
  const none = StringTensor.from([], { shape: [0, 3] })
  expect((kernel('twice')(none) as StringTensor).shape).toEqual([0, 3])
})

test('a kernel gets the whole buffer of strings for TFLite, and the result is that of their shape', () => {
  const words = StringTensor.from(['a', 'bb', 'ccc', ''], { layout: 'tflite', shape: [2, 2] })
  expect((kernel('lite')(words) as Tensor).toArray()).toEqual([4, words.segment.byteSize])
  expect(() => kernel('lite')(StringTensor.from(['a'], { layout: 'tflite' }))).toThrow('it has 1 axis, not 2')
})

test('a kernel returns strings of the RFC', () => {
  const words = StringTensor.from(['', 'fifteen bytes..'], { layout: 'rfc16' })
  const made = kernel('first16')(words) as StringTensor
  expect(made).toMatchObject({ layout: 'rfc16', shape: [2] })
  expect(made.toArray()).toEqual(['', 'fifteen bytes..'])
})

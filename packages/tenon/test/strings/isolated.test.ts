import { tensor, type Tensor } from '@tenon/core'
import { sharedChunkOf } from '@tenon/core/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NativeScope } from '../../src/entries/scope.ts'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library, type IsolatedKernel, type IsolatedLibrary } from '../../src/index.ts'
import { compileKernels, sizesOf, TEXTS, twiceOf } from './library.ts'

const path = compileKernels()
const count = tensor('s64', [], [BigInt(TEXTS.length)])

describe.each([{}, { guard: true }])('a library with the options %j', (options) => {
  let library: IsolatedLibrary
  beforeAll(async () => {
    library = await Library.isolate(path, options)
  })
  afterAll(() => library.closeAsync())
  const kernel = (name: string): IsolatedKernel<unknown> => library.kernel(name)

  describe.each([
    ['typed', 'sizes', 'twice', []],
    ['host', 'host_sizes', 'host_twice', [count]],
    ['packed', 'packed_sizes', 'packed_twice', []],
  ])('runs a %s kernel', (_, sizes, twice, more) => {
    test.each(['arena', 'packed', 'malloc'] as const)('that reads strings in %s storage', async (storage) => {
      using words = StringTensor.from(TEXTS, { storage })
      expect((kernel(sizes)(words, ...more) as Tensor).toArray()).toEqual(sizesOf(TEXTS))
      expect(((await kernel(sizes).async(words, ...more)) as Tensor).toArray()).toEqual(sizesOf(TEXTS))
    })

    test('that returns strings', async () => {
      const words = StringTensor.from(TEXTS)
      const [settled] = await kernel(twice).batch([[words, ...more]])
      const all = [
        kernel(twice)(words, ...more),
        await kernel(twice).async(words, ...more),
        (settled as PromiseFulfilledResult<unknown>).value,
      ] as StringTensor[]
      for (const result of all) {
        expect(result).toBeInstanceOf(StringTensor)
        expect(result.toArray()).toEqual(twiceOf(TEXTS))
      }
      // Results are operands of other kernels.
      expect((kernel(sizes)(all[0]!, ...more) as Tensor).toArray()).toEqual(sizesOf(twiceOf(TEXTS)))
    })
  })

  test('strings in the memory of an allocator end with it, and others stay in the memory of the library', () => {
    const words = StringTensor.from(TEXTS)
    const scope = NativeScope.ofConfined()
    const own = kernel('twice')(words) as StringTensor
    const short = kernel('twice')(StringTensor.from(['a']), { allocator: scope }) as StringTensor
    const long = kernel('twice')(words, { allocator: scope }) as StringTensor
    expect([sharedChunkOf(own.segment) !== undefined, sharedChunkOf(long.segment)]).toEqual([true, undefined])
    expect([short.toArray(), long.toArray()]).toEqual([['aa'], twiceOf(TEXTS)])
    scope.close()
    for (const closed of [short, long]) expect(() => closed.get(0)).toThrow('closed')
    expect(own.toArray()).toEqual(twiceOf(TEXTS))
  })

  test('packed strings in the memory of the library are not copied', () => {
    const words = StringTensor.from(TEXTS, { storage: 'packed', allocator: library.memory })
    const before = library.metrics().copiedBytes
    expect((kernel('sizes')(words) as Tensor).toArray()).toEqual(sizesOf(TEXTS))
    expect(library.metrics().copiedBytes).toBe(before)
  })

  test('a kernel that fails leaves the library usable, and its strings are freed', () => {
    const words = StringTensor.from(TEXTS)
    for (let i = 0; i < 100; i++) expect(() => kernel('fail')(words)).toThrow('no luck')
    expect((kernel('twice')(words) as StringTensor).toArray()).toEqual(twiceOf(TEXTS))
  })

  test('damaged strings of a worker are refused', () => {
    const small = (first: number): Uint8Array => Uint8Array.of(first, ...new Array<number>(23).fill(0))
    const offset = Buffer.alloc(24)
    offset.writeUInt32LE((5 << 2) | 2, 0)
    offset.writeUInt32LE(1 << 20, 4)
    for (const bytes of [small(23 << 2), offset]) {
      expect(() => kernel('forge')(tensor('u8', [1, 24], bytes))).toThrow(/out of forge must have valid|must be valid/)
    }
    // A null pointer with a size, and a VIEW of no bytes.
    const view = Buffer.alloc(24)
    view.writeUInt32LE((9 << 2) | 3, 0)
    expect(() => kernel('forge')(tensor('u8', [1, 24], view))).toThrow('must be valid')
    view.writeUInt32LE(3, 0)
    expect((kernel('forge')(tensor('u8', [1, 24], view)) as StringTensor).toArray()).toEqual([''])
    expect((kernel('twice')(StringTensor.from(['x'])) as StringTensor).toArray()).toEqual(['xx'])
  })
})

import { describe, expect, test } from 'vitest'
import { MalformedTensorError } from '@tenon/tstring'
import { ArrowError, importBatch, importSchema } from '@tenon/arrow'
import { counts } from './peer.ts'
import { column, Structs } from './structs.ts'

describe('a struct that is not valid is an ArrowError, and is released', () => {
  const structs = new Structs()
  const words = structs.words(1, 2, 3, 4)
  const field = structs.schema()
  const array = (): bigint => structs.array({ length: 4, buffers: [0, words] })
  const inner = structs.schema({ format: '+s', children: [field] })
  structs.write(structs.read(inner, 5), 0, inner)

  test.each([
    ['an unknown format', { format: 'q' }, 'must have a format of Arrow, got "q"'],
    ['no format', { format: 0n }, 'must have a format, got the null pointer'],
    ['a format at a wild address', { format: 77n }, 'must have a format in memory'],
    ['a fixed size that is too large', { format: 'w:9999999999' }, 'must have a format of Arrow'],
    ['a negative number of children', { format: '+s', count: -1 }, 'children, got -1'],
    ['more children than any schema has', { format: '+s', count: 1n << 62n }, 'children, got'],
    ['children without a list', { format: '+s', count: 2 }, 'must have a list of 2 children'],
    ['a child that is null', { format: '+s', children: [0n] }, 'must have a struct as child 0'],
    ['children of numbers', { format: 'l', children: [field] }, 'must have 0 children, got 1'],
    ['a child that contains itself', { format: '+s', children: [inner] }, 'levels deep'],
    ['a released child', { format: '+s', children: [structs.schema({ release: 0 })] }, 'must not be released'],
    ['a dictionary of floats', { format: 'g', dictionary: field }, 'must have integers as indices'],
    ['metadata of a negative size', { metadata: structs.bytes(Int32Array.of(-1)) }, 'must have metadata whose number'],
    ['metadata with a large size', { metadata: structs.bytes(Int32Array.of(1, 2 ** 30)) }, 'size of a key is from'],
  ] as const)('if the schema has %s', (_, schema, message) => {
    const address = structs.schema(schema)
    const before = counts()
    expect(() => importBatch(address, array())).toThrow(ArrowError)
    expect(counts()).toEqual({ ...before, schemas: before.schemas + 1, arrays: before.arrays + 1 })
    structs.write(address, 7, structs.releaseSchema)
    expect(() => importSchema(address)).toThrow(message)
  })

  test.each([
    ['a negative length', { length: -1, buffers: [0, words] }, 'must have a length and an offset of at least 0'],
    ['a negative offset', { offset: -1, buffers: [0, words] }, 'must have a length and an offset of at least 0'],
    ['a length of 2^63 - 1', { length: (1n << 63n) - 1n, buffers: [0, words] }, 'must have a length and an offset'],
    ['an offset that overflows', { length: 4, offset: (1n << 63n) - 1n, buffers: [0, words] }, 'must have a length'],
    ['more nulls than elements', { length: 4, nullCount: 5, buffers: [words, words] }, 'must have -1 to 4 nulls'],
    ['fewer nulls than -1', { length: 4, nullCount: -2, buffers: [words, words] }, 'must have -1 to 4 nulls'],
    ['nulls without a bitmap', { length: 4, nullCount: 1, buffers: [0, words] }, 'must have a bitmap'],
    ['too few buffers', { length: 4, buffers: [0] }, 'must have 2 buffers, got 1'],
    ['a negative number of buffers', { length: 4, bufferCount: -1 }, 'must have 2 buffers, got -1'],
    ['buffers without a list', { length: 4, bufferCount: 2 }, 'must have a list of 2 buffers'],
    ['elements at null', { length: 4, buffers: [0, 0] }, 'must have 32 bytes of elements, got the address 0'],
    ['elements beyond the address space', { length: 1n << 50n, buffers: [0, words] }, 'bytes of elements'],
    ['children', { length: 4, buffers: [0, words], childCount: 1 }, 'must have 0 children as its schema has, got 1'],
    ['a dictionary', { length: 4, buffers: [0, words], dictionary: 4096n }, 'must have no dictionary'],
  ] as const)('if the array has %s', (_, words_, message) => {
    const before = counts()
    expect(() => importBatch(structs.schema(), structs.array(words_))).toThrow(message)
    expect(counts()).toEqual({ ...before, schemas: before.schemas + 1, arrays: before.arrays + 1 })
  })

  test('if a child is shorter than its parent', () => {
    const parent = structs.schema({ format: '+s', children: [field] })
    const short = structs.array({ length: 5, offset: 0, buffers: [0], children: [array()] })
    expect(() => importBatch(parent, short)).toThrow('column "x" must have the 5 elements that its parent uses, got 4')
    const list = structs.schema({ format: '+w:3', children: [field] })
    expect(() => importBatch(list, structs.array({ length: 2, buffers: [0], children: [array()] }))).toThrow(
      '6 elements',
    )
  })

  test('if a child was moved', () => {
    const child = structs.array({ length: 4, buffers: [0, words], release: 0 })
    const parent = structs.array({ length: 4, buffers: [0], children: [child] })
    expect(() => importBatch(structs.schema({ format: '+s', children: [field] }), parent)).toThrow(
      'must not be released',
    )
  })

  test.each([
    ['decrease', Int32Array.of(2, 1, 3), 'arrow-order', MalformedTensorError],
    ['are negative', Int32Array.of(0, 1, -4), 'must have -4 bytes of strings', ArrowError],
    ['lead outside', Int32Array.of(0, 9, 4), 'arrow-range', MalformedTensorError],
  ])('if the offsets of strings %s', (_, offsets, message, kind) => {
    const made = column('u', { length: 2, buffers: [0, structs.bytes(offsets), words] }, structs)
    expect(() => made.strings()).toThrow(message)
    expect(() => made.strings()).toThrow(kind)
  })

  test.each([
    ['decrease', Int32Array.of(0, 3, 2), 'must have offset 2 from 3 to 4'],
    ['lead outside of the child', Int32Array.of(0, 1, 5), 'must have offset 2 from 1 to 4, got 5'],
    ['are negative', Int32Array.of(-1, 1, 2), 'must have offset 0 from 0 to 4, got -1'],
  ])('if the offsets of lists %s', (_, offsets, message) => {
    const list = structs.schema({ format: '+l', children: [structs.schema()] })
    const made = structs.array({ length: 2, buffers: [0, structs.bytes(offsets)], children: [array()] })
    const [found] = importBatch(list, made).columns
    expect(() => found!.offsets()).toThrow(message)
  })
})

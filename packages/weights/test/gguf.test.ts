import { readFileSync, truncateSync } from 'node:fs'
import { ArgumentError, LoadError, ScopeClosedError } from '@tenon/core'
import { ResourceScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { openGguf, WeightsFormatError } from '../src/index.ts'
import { ggmlTypes } from '../src/gguf/ggml-types.ts'
import { fixture, ggufBytes, ggufTensor, ggufValue, temporaryFiles, text, uint32, uint64, values } from './support.ts'
import { thrownBy } from './thrown-by.ts'

const write = temporaryFiles()

/** The numbers of types of values. */
const TYPE = { uint8: 0, uint32: 4, float32: 6, bool: 7, string: 8, array: 9 } as const

/** The numbers of types of elements. */
const GGML = { f32: 0, q4_0: 2, i8: 24 } as const

describe('openGguf()', () => {
  test('reads each type of value that the Python library writes', () => {
    const { metadata } = openGguf(fixture('types.gguf'))
    expect(Object.fromEntries([...metadata].filter(([key]) => key.startsWith('v.')))).toEqual({
      'v.uint8': 200,
      'v.int8': -100,
      'v.uint16': 60_000,
      'v.int16': -30_000,
      'v.uint32': 4_000_000_000,
      'v.int32': -2_000_000_000,
      'v.float32': 0.5,
      'v.bool': true,
      'v.string': 'größe',
      'v.uint64': 2n ** 63n,
      'v.int64': -(2n ** 62n),
      'v.float64': 0.1,
      'v.strings': ['a', '', 'ü'],
      'v.ints': Int32Array.of(1, -2, 3),
      'v.floats': Float32Array.of(0.5, 1.5),
      'v.bools': [true, false],
    })
    expect(metadata.get('general.architecture')).toBe('test')
  })

  test.each([
    ['f32', 'F32', 'float32'],
    ['f64', 'F64', 'float64'],
    ['f16', 'F16', 'float16'],
    ['bf16', 'BF16', 'bfloat16'],
    ['i8', 'I8', 'int8'],
    ['i16', 'I16', 'int16'],
    ['i32', 'I32', 'int32'],
  ])('reads the tensor %s of the Python library', (name, type, dtype) => {
    const file = openGguf(fixture('types.gguf'))
    expect(file.entry(name)).toMatchObject({
      name,
      type,
      dtype,
      shape: [2, 3],
      byteSize: file.tensor(name).type.byteSize,
    })
    expect(file.entry(name).block).toBeUndefined()
    expect(file.tensor(name).toArray()).toEqual(values(6))
    expect(file.tensor(name).shape).toEqual([2, 3])
  })

  test('reads integers of 64 bits as bigints', () => {
    expect(openGguf(fixture('types.gguf')).tensor('i64').toArray()).toEqual(values(6).map(BigInt))
  })

  test('shows types of blocks as the bytes of their blocks', () => {
    const file = openGguf(fixture('types.gguf'))
    expect(file.entry('Q4_0')).toMatchObject({
      type: 'Q4_0',
      shape: [2, 256],
      dtype: 'uint8',
      block: { elements: 32, byteSize: 18 },
    })
    const x = file.tensor('Q8_0')
    expect([x.dtype, x.shape]).toEqual(['uint8', [2, 8, 34]])
    // A block of Q8_0 is a float16 scale and 32 integers of 8 bits.
    const bytes = Buffer.from(x.slice(1, 0).toArray() as number[])
    const scale = file.tensor('Q8_0').slice(1, 0, [0, 2]).toArray() as number[]
    const half = (scale[0]! | (scale[1]! << 8)) & 0x7fff
    const factor = (1 + (half & 0x3ff) / 1024) * 2 ** ((half >> 10) - 15)
    const decoded = Array.from({ length: 32 }, (_, i) => bytes.readInt8(2 + i) * factor)
    values(512)
      .slice(256, 288)
      .forEach((value, i) => expect(decoded[i]).toBeCloseTo(value / 2, 1))
    expect(file.tensor('Q5_1').shape).toEqual([2, 8, 24])
  })

  test('knows the sizes of the types of the Python library', () => {
    const sizes = JSON.parse(readFileSync(fixture('ggml-types.json'), 'utf8')) as Record<string, number[]>
    const known = [...ggmlTypes].map(([number, { name, elements, byteSize }]) => [name, [number, elements, byteSize]])
    // The library counts two float32 for a block of Q8_1, which has two float16 in ggml, and which no file has.
    expect(Object.fromEntries(known)).toEqual({ ...sizes, Q8_1: [9, 32, 36] })
  })

  test('reads arrays of arrays, an alignment, gaps between tensors, and version 2', () => {
    const pairs = [
      ggufValue(
        'a',
        TYPE.array,
        uint32(TYPE.array),
        uint64(2),
        uint32(TYPE.uint8),
        uint64(2),
        Buffer.from([1, 2]),
        uint32(TYPE.string),
        uint64(1),
        text('x'),
      ),
      ggufValue('general.alignment', TYPE.uint32, uint32(8)),
      ggufValue('b', TYPE.array, uint32(TYPE.bool), uint64(0)),
    ]
    const tensors = [
      ggufTensor('x', [2], GGML.f32, 16),
      ggufTensor('y', [], GGML.i8, 0),
      ggufTensor('z', [0, 5], GGML.f32, 8),
    ]
    const bytes = ggufBytes({
      version: 2,
      values: pairs,
      tensors,
      alignment: 8,
      data: Buffer.concat([Buffer.alloc(16, 9), Buffer.from(new Float32Array([1, 2]).buffer)]),
    })
    const file = openGguf(write('parts.gguf', bytes))
    expect(file.metadata.get('a')).toEqual([Uint8Array.of(1, 2), ['x']])
    expect(file.metadata.get('b')).toEqual([])
    expect(file.tensor('x').toArray()).toEqual([1, 2])
    expect(file.tensor('y').item()).toBe(9)
    expect(file.tensor('z').shape).toEqual([5, 0])
    expect(String(file)).toContain('WeightsFile GGUF (3 tensors')
  })

  test('replaces what is not UTF-8 in values, because vocabularies have parts of characters', () => {
    const bytes = ggufBytes({ values: [ggufValue('a', TYPE.string, text(Uint8Array.of(0xff, 0x41)))] })
    expect(openGguf(write('bytes.gguf', bytes)).metadata.get('a')).toBe('�A')
  })

  test('reads values that are larger than its window', () => {
    const long = 'x'.repeat(200_000)
    const bytes = ggufBytes({
      values: [ggufValue('a', TYPE.string, text(long)), ggufValue('b', TYPE.string, text('end'))],
    })
    const { metadata } = openGguf(write('long.gguf', bytes))
    expect([metadata.get('a'), metadata.get('b')]).toEqual([long, 'end'])
  })

  test('ends its tensors with the scope', () => {
    const scope = ResourceScope.ofConfined()
    const file = openGguf(fixture('types.gguf'), scope)
    const x = file.tensor('f32')
    scope.close()
    expect(() => x.toArray()).toThrow(ScopeClosedError)
    expect(() => file.tensor('f32')).toThrow(ScopeClosedError)
  })

  test('reads zeros where the file was truncated after it was opened', () => {
    const path = write(
      'truncated.gguf',
      ggufBytes({ tensors: [ggufTensor('a', [8192], GGML.i8, 0)], data: Buffer.alloc(8192, 1) }),
    )
    const file = openGguf(path)
    truncateSync(path, 4096)
    expect(file.tensor('a').toArray().at(-1)).toBe(0)
  })

  test('explains wrong arguments', () => {
    expect(() => openGguf('missing.gguf')).toThrow(LoadError)
    expect(() => openGguf(5 as unknown as string)).toThrow(ArgumentError)
    expect(() => openGguf(fixture('types.gguf')).tensor('f33')).toThrow(ArgumentError)
  })
})

const header = (tensors: number | bigint, pairs: number | bigint): Buffer => ggufBytes({ counts: [tensors, pairs] })
const oneValue = (...parts: readonly Buffer[]): Buffer => ggufBytes({ counts: [0, 1], values: parts })
const oneTensor = (tensor: Buffer, data: number = 64): Buffer =>
  ggufBytes({ tensors: [tensor], data: Buffer.alloc(data) })
const nested = Buffer.concat(new Array<Buffer>(100_000).fill(Buffer.concat([uint32(TYPE.array), uint64(1)])))

describe('a damaged GGUF file', () => {
  test.each<[string, Buffer, RegExp, number]>([
    ['an empty file', Buffer.alloc(0), /the magic should have 4 bytes/, 0],
    ['another magic', Buffer.from('GGML'), /begin with 'GGUF'/, 0],
    ['version 1', ggufBytes({ version: 1 }), /should be 2 or 3, but is 1/, 4],
    ['version 4', ggufBytes({ version: 4 }), /should be 2 or 3, but is 4/, 4],
    ['a big-endian file', ggufBytes({ version: 0x03000000 }), /big-endian/, 4],
    ['2^64 - 1 tensors', header(2n ** 64n - 1n, 0), /no room/, 8],
    ['2^64 - 1 values', header(0, 2n ** 64n - 1n), /no room/, 16],
    [
      'one tensor too many',
      ggufBytes({ counts: [3, 0], tensors: [ggufTensor('a', [1], GGML.i8, 0)], data: Buffer.alloc(32) }),
      /./,
      93,
    ],
    ['a key of 2^64 - 1 bytes', oneValue(uint64(2n ** 64n - 1n), Buffer.alloc(9)), /no room/, 24],
    ['a key of 70,000 bytes', oneValue(text('a'.repeat(70_000)), Buffer.alloc(9)), /at most 65535 bytes/, 24],
    ['a key that is not UTF-8', oneValue(text(Uint8Array.of(0xff)), Buffer.alloc(9)), /not UTF-8/, 24],
    [
      'two equal keys',
      ggufBytes({ values: [ggufValue('a', TYPE.uint8, Buffer.alloc(1)), ggufValue('a', TYPE.uint8, Buffer.alloc(1))] }),
      /two values have the key "a"/,
      38,
    ],
    ['an unknown type of value', oneValue(ggufValue('a', 13, Buffer.alloc(8))), /unknown type of value, 13/, 33],
    ['a boolean of 2', oneValue(ggufValue('a', TYPE.bool, Buffer.from([2]))), /0 or 1, but has 2/, 37],
    ['a string behind the end', oneValue(ggufValue('a', TYPE.string, uint64(100))), /no room/, 37],
    [
      'an array of 2^64 - 1 bytes',
      oneValue(ggufValue('a', TYPE.array, uint32(TYPE.uint8), uint64(2n ** 64n - 1n))),
      /no room/,
      41,
    ],
    [
      'an array of 2^61 numbers of 8 bytes',
      oneValue(ggufValue('a', TYPE.array, uint32(12), uint64(2n ** 61n))),
      /no room/,
      41,
    ],
    [
      'an array of an unknown type',
      oneValue(ggufValue('a', TYPE.array, uint32(99), uint64(0))),
      /elements of an unknown type, 99/,
      37,
    ],
    ['deep arrays', oneValue(ggufValue('a', TYPE.array, nested)), /more than 4 levels/, 85],
    ['an alignment of 0', oneValue(ggufValue('general.alignment', TYPE.uint32, uint32(0))), /power of two/, 24],
    ['an alignment of 3', oneValue(ggufValue('general.alignment', TYPE.uint32, uint32(3))), /power of two/, 24],
    [
      'an alignment that is a float',
      oneValue(ggufValue('general.alignment', TYPE.float32, uint32(0x42000000))),
      /power of two/,
      24,
    ],
    [
      'two equal names',
      ggufBytes({
        tensors: [ggufTensor('a', [1], GGML.i8, 0), ggufTensor('a', [1], GGML.i8, 32)],
        data: Buffer.alloc(64),
      }),
      /two tensors have the name "a"/,
      57,
    ],
    ['a name that is not UTF-8', oneTensor(ggufTensor('', [1], GGML.i8, 0).fill(0xff, 0, 0), 0), /./, 24],
    ['5 axes', oneTensor(ggufTensor('a', [1, 1, 1, 1, 1], GGML.i8, 0)), /at most 4 axes, but has 5/, 33],
    [
      '2^32 - 1 axes',
      oneTensor(Buffer.concat([text('a'), uint32(2 ** 32 - 1), Buffer.alloc(32)])),
      /at most 4 axes/,
      33,
    ],
    ['a size of 2^63', oneTensor(ggufTensor('a', [2n ** 63n], GGML.i8, 0)), /should be below 2\^53/, 37],
    [
      'sizes whose product overflows',
      oneTensor(ggufTensor('a', [2 ** 40, 2 ** 40], GGML.i8, 0)),
      /2\^53 bytes or more/,
      33,
    ],
    ['bytes that overflow', oneTensor(ggufTensor('a', [2 ** 52], GGML.f32, 0)), /2\^53 bytes or more/, 33],
    ['an unknown type of elements', oneTensor(ggufTensor('a', [1], 99, 0)), /unknown type, 99/, 33],
    ['a type that ggml has removed', oneTensor(ggufTensor('a', [32], 4, 0)), /unknown type, 4/, 33],
    [
      'a row that is no multiple of its block',
      oneTensor(ggufTensor('a', [33], GGML.q4_0, 0)),
      /multiple of 32 elements for Q4_0, but have 33/,
      33,
    ],
    ['an offset that is not aligned', oneTensor(ggufTensor('a', [1], GGML.i8, 1)), /multiple of 32/, 33],
    ['an offset of 2^64 - 32', oneTensor(ggufTensor('a', [1], GGML.i8, 2n ** 64n - 32n)), /should be below 2\^53/, 49],
    [
      'a tensor behind the end',
      oneTensor(ggufTensor('a', [65], GGML.i8, 0)),
      /should end at byte 129, but the file ends at 128/,
      24,
    ],
    [
      'a tensor that begins behind the end',
      oneTensor(ggufTensor('a', [1], GGML.i8, 2 ** 52)),
      /but the file ends at 128/,
      24,
    ],
    [
      'an overlap',
      ggufBytes({
        tensors: [ggufTensor('a', [33], GGML.i8, 0), ggufTensor('b', [1], GGML.i8, 32)],
        data: Buffer.alloc(64),
      }),
      /"b" overlaps the tensor "a"/,
      57,
    ],
  ])('%s is refused with its place', (_, bytes, reason, byteOffset) => {
    const path = write('damaged.gguf', bytes)
    const error = thrownBy(() => openGguf(path))
    expect(error).toBeInstanceOf(WeightsFormatError)
    expect(error.sentence).toMatch(reason)
    expect(error.details).toMatchObject({ path, byteOffset })
  })

  test('too many arrays are refused before they take memory', () => {
    const many = 2 ** 22 + 1
    const value = ggufValue('a', TYPE.array, uint32(TYPE.array), uint64(many), Buffer.alloc(12 * many))
    expect(() => openGguf(write('many.gguf', oneValue(value)))).toThrow('too many values')
  })
})

import { closeSync, ftruncateSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { AlignmentError, ArgumentError, gcAllocator, LoadError, ScopeClosedError, type Tensor } from '@tenon/core'
import { mappingCount } from './mappings.ts'
import { ResourceScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { openSafetensors, WeightsFormatError } from '../src/index.ts'
import { fixture, safetensorsBytes, temporaryFiles, values } from './support.ts'
import { thrownBy } from './thrown-by.ts'

const write = temporaryFiles()

/** The names of the fixture and their element types, as safetensors and as Tenon name them. */
const types = {
  f64: ['F64', 'float64'],
  f32: ['F32', 'float32'],
  f16: ['F16', 'float16'],
  bf16: ['BF16', 'bfloat16'],
  f8_e4m3: ['F8_E4M3', 'float8_e4m3fn'],
  f8_e5m2: ['F8_E5M2', 'float8_e5m2'],
  i64: ['I64', 'int64'],
  i32: ['I32', 'int32'],
  i16: ['I16', 'int16'],
  i8: ['I8', 'int8'],
  u64: ['U64', 'uint64'],
  u32: ['U32', 'uint32'],
  u16: ['U16', 'uint16'],
  u8: ['U8', 'uint8'],
  bool: ['BOOL', 'bool'],
  c64: ['C64', 'complex64'],
} as const

describe('openSafetensors()', () => {
  test.each(Object.entries(types))('reads the tensor %s of the Python library', (name, [type, dtype]) => {
    const file = openSafetensors(fixture('types.safetensors'))
    expect(file.entry(name)).toMatchObject({ name, type, dtype, shape: [2, 3] })
    const x = file.tensor(name)
    expect(x.dtype).toBe(dtype)
    expect(x.shape).toEqual([2, 3])
    const wanted = values(6).map((value) => {
      if (name.startsWith('u')) return value + 2
      if (name === 'bool') return value > 0
      return name === 'c64' ? [value, 0] : value
    })
    expect(x.toArray()).toEqual(
      name.endsWith('64') && /^[iu]/.test(name) ? wanted.map((value) => BigInt(value as number)) : wanted,
    )
  })

  test('reads scalars, empty tensors, names of properties, and metadata', () => {
    const file = openSafetensors(fixture('types.safetensors'))
    expect(file.names.length).toBe(Object.keys(types).length + 3)
    expect(file.tensor('scalar').item()).toBe(4)
    expect(file.tensor('empty').shape).toEqual([0, 5])
    expect(file.tensor('__proto__').toArray()).toEqual([1])
    expect([...file.metadata].toSorted()).toEqual([
      ['format', 'np'],
      ['größe', 'ü'],
    ])
    expect(file.has('f32')).toBe(true)
    expect(file.has('toString')).toBe(false)
    expect(String(file)).toMatch(/^WeightsFile safetensors \(19 tensors of .*types.safetensors\)$/)
  })

  test('takes a file: URL', () => {
    expect(openSafetensors(pathToFileURL(fixture('types.safetensors'))).has('f32')).toBe(true)
  })

  test('packs two 4-bit floats in a byte, and shows 6-bit floats as blocks', () => {
    const header = {
      a: { dtype: 'F4', shape: [2, 2], data_offsets: [0, 2] },
      b: { dtype: 'F6_E2M3', shape: [2, 8], data_offsets: [2, 14] },
      c: { dtype: 'F6_E3M2', shape: [2, 2], data_offsets: [14, 17] },
      d: { dtype: 'F8_E8M0', shape: [1], data_offsets: [17, 18] },
    }
    const data = Buffer.alloc(18, 1)
    data[0] = 0x52
    const file = openSafetensors(write('narrow.safetensors', safetensorsBytes(header, data)))
    expect(file.tensor('a').packing).toBe('packed')
    expect(file.tensor('a').toArray()).toEqual([1, 3, 0.5, 0])
    expect(file.entry('b').block).toEqual({ elements: 4, byteSize: 3 })
    expect([file.tensor('b').dtype, file.tensor('b').shape]).toEqual(['uint8', [2, 2, 3]])
    expect(file.tensor('c').shape).toEqual([1, 3])
    expect(file.tensor('d').toArray()).toEqual([2 ** -126])
  })

  test('maps tensors in place, read-only, until the scope closes', () => {
    const scope = ResourceScope.ofConfined()
    const file = openSafetensors(fixture('types.safetensors'), scope)
    const [a, b] = [file.tensor('f32'), file.tensor('f32')]
    expect(a.address).toBe(b.address)
    expect(a.address - file.tensor('f64').address).toBe(file.entry('f32').byteOffset - file.entry('f64').byteOffset)
    expect(() =>
      a.set([
        [1, 2, 3],
        [4, 5, 6],
      ] as never),
    ).toThrow('read-only')
    scope.close()
    expect(() => a.toArray()).toThrow(ScopeClosedError)
    expect(() => file.tensor('f32')).toThrow(ScopeClosedError)
    expect(file.entry('f32').shape).toEqual([2, 3])
  })

  test('copies elements with an allocator, also where they are not aligned', () => {
    const header = {
      a: { dtype: 'U8', shape: [1], data_offsets: [0, 1] },
      b: { dtype: 'F32', shape: [1], data_offsets: [1, 5] },
    }
    const file = openSafetensors(
      write('unaligned.safetensors', safetensorsBytes(header, Buffer.from([7, 0, 0, 0x80, 0x3f]))),
    )
    const error = thrownBy(() => file.tensor('b'))
    expect(error).toBeInstanceOf(AlignmentError)
    expect(error.hint).toContain('gcAllocator')
    const copy = file.tensor('b', { allocator: gcAllocator }) as Tensor<'float32'>
    expect(copy.toArray()).toEqual([1])
    copy.set([2])
    expect(copy.toArray()).toEqual([2])
  })

  test('explains a name that the file does not have', () => {
    const file = openSafetensors(fixture('types.safetensors'))
    expect(thrownBy(() => file.tensor('bf17')).hint).toContain('bf16')
    for (const name of [undefined, null, 5, 'x', '__proto', 'constructor']) {
      expect(() => file.tensor(name as string)).toThrow(ArgumentError)
      expect(() => file.entry(name as string)).toThrow(ArgumentError)
    }
    expect(() => file.tensor('f32', { alloc: 1 } as object)).toThrow('alloc')
  })

  test('unmaps a file that it refuses', () => {
    const path = write('refused.safetensors', safetensorsBytes('{', 4096))
    const before = mappingCount()
    const scope = ResourceScope.ofConfined()
    for (let i = 0; i < 3; i++) expect(() => openSafetensors(path, scope)).toThrow(WeightsFormatError)
    expect(mappingCount()).toBe(before)
    scope.close()
  })

  test('explains a path without a file', () => {
    expect(() => openSafetensors('missing.safetensors')).toThrow(LoadError)
    expect(() => openSafetensors('missing.safetensors.index.json')).toThrow(LoadError)
    expect(() => openSafetensors(5 as unknown as string)).toThrow(ArgumentError)
    expect(() => openSafetensors(fixture('types.safetensors'), 5 as never)).toThrow(ArgumentError)
  })

  test('reads zeros where the file was truncated after it was opened', () => {
    const header = { a: { dtype: 'U8', shape: [8192], data_offsets: [0, 8192] } }
    const path = write('truncated.safetensors', safetensorsBytes(header, Buffer.alloc(8192, 1)))
    const file = openSafetensors(path)
    truncateSync(path, 4096)
    const bytes = file.tensor('a').toArray()
    expect([bytes[0], bytes.at(-1)]).toEqual([1, 0])
  })

  test('opens a file of 4 GiB without reading it', () => {
    const header = {
      a: { dtype: 'F32', shape: [2 ** 29], data_offsets: [0, 2 ** 31] },
      b: { dtype: 'F32', shape: [2 ** 29], data_offsets: [2 ** 31, 2 ** 32] },
    }
    const bytes = safetensorsBytes(header)
    const padded = safetensorsBytes(JSON.stringify(header).padEnd(Math.ceil(bytes.length / 8) * 8 - 8))
    const path = write('large.safetensors', padded)
    const descriptor = openSync(path, 'r+')
    ftruncateSync(descriptor, padded.length + 2 ** 32)
    writeSync(descriptor, new Uint8Array(new Float32Array([1.5]).buffer), 0, 4, padded.length + 2 ** 32 - 4)
    closeSync(descriptor)
    const before = process.memoryUsage.rss()
    const scope = ResourceScope.ofConfined()
    const b = openSafetensors(path, scope).tensor('b') as Tensor<'float32'>
    expect(b.at(-1)).toBe(1.5)
    expect(process.memoryUsage.rss() - before).toBeLessThan(20 * 2 ** 20)
    scope.close()
  })
})

describe('an index of safetensors files', () => {
  test('opens the files beside it as one', () => {
    const file = openSafetensors(fixture('shard.safetensors.index.json'))
    expect(file.names).toEqual(['f32', 'i64', 'bf16'])
    expect(file.tensor('bf16').toArray()).toEqual(values(6))
    expect(file.tensor('f32', { allocator: gcAllocator }).toArray()).toEqual(values(6))
    expect(file.entry('i64').dtype).toBe('int64')
  })

  test.each([
    ['{', 'not JSON'],
    ['[]', 'weight_map'],
    ['{"weight_map": []}', 'weight_map'],
    ['{"weight_map": {"a": "../x.safetensors"}}', 'without a folder'],
    ['{"weight_map": {"a": "/x.safetensors"}}', 'without a folder'],
    ['{"weight_map": {"a": 5}}', 'without a folder'],
    ['{"weight_map": {"a": ".."}}', 'without a folder'],
    ['{"weight_map": {"a": "one.safetensors"}}', 'does not have the tensor'],
  ])('refuses %s', (index, reason) => {
    write('one.safetensors', safetensorsBytes({}))
    const path = write('x.safetensors.index.json', Buffer.from(index))
    expect(() => openSafetensors(path)).toThrow(reason)
    expect(() => openSafetensors(path)).toThrow(WeightsFormatError)
  })
})

const entry = (start: number, end: number, dtype = 'U8', shape: unknown = [end - start]): object => ({
  dtype,
  shape,
  data_offsets: [start, end],
})

describe('a damaged safetensors file', () => {
  test.each<[string, Buffer, RegExp, number]>([
    ['an empty file', Buffer.alloc(0), /ends within the size/, 0],
    ['a file of 7 bytes', Buffer.alloc(7), /ends within the size/, 7],
    ['a header behind the end', safetensorsBytes('{}', 0, 3n), /the file ends at 10/, 0],
    ['a header of 2^64 - 1 bytes', safetensorsBytes('{}', 0, 2n ** 64n - 1n), /more than the limit/, 0],
    ['no header', safetensorsBytes(''), /begin with '\{'/, 8],
    ['a header that begins with a space', safetensorsBytes(' {}'), /begin with '\{'/, 8],
    ['a header that is not UTF-8', safetensorsBytes(Buffer.from([0x7b, 0xff, 0x7d])), /not UTF-8/, 8],
    ['text behind the object', safetensorsBytes('{}x'), /the end of the header/, 10],
    ['an array as header', safetensorsBytes('[]'), /begin with '\{'/, 8],
    ['a tensor that is a number', safetensorsBytes('{"a":1}'), /should have '\{'/, 13],
    ['deep arrays', safetensorsBytes(`{"a":{"shape":${'['.repeat(100_000)}`), /whole number/, 23],
    ['deep objects', safetensorsBytes(`{"a":${'{"a":'.repeat(100_000)}`), /dtype, shape and data_offsets/, 14],
    [
      'a name that appears twice',
      safetensorsBytes('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\\u0061":{}}'),
      /the name "a" twice/,
      61,
    ],
    ['metadata that is not text', safetensorsBytes('{"__metadata__":{"a":1}}'), /a string/, 29],
    ['a key of metadata that appears twice', safetensorsBytes('{"__metadata__":{"a":"1","a":"2"}}'), /twice/, 33],
    ['an unknown key', safetensorsBytes({ a: { ...entry(0, 1), x: 1 } }, 1), /but has "x"/, 60],
    ['no shape', safetensorsBytes({ a: { dtype: 'U8', data_offsets: [0, 1] } }, 1), /should have dtype, shape/, 9],
    ['one offset', safetensorsBytes({ a: { ...entry(0, 1), data_offsets: [0] } }, 1), /two data_offsets/, 9],
    [
      'three offsets',
      safetensorsBytes({ a: { ...entry(0, 1), data_offsets: [0, 1, 2] } }, 1),
      /the array has 2 numbers/,
      59,
    ],
    ['an unknown type', safetensorsBytes({ a: entry(0, 1, 'F128') }, 1), /unknown type "F128"/, 9],
    ['a negative size', safetensorsBytes({ a: entry(0, 1, 'U8', [-1]) }, 1), /whole number/, 36],
    ['a fraction', safetensorsBytes({ a: entry(0, 1, 'U8', [1.5]) }, 1), /whole number/, 36],
    ['an exponent', safetensorsBytes('{"a":{"dtype":"U8","shape":[1e0]'), /whole number/, 36],
    ['a size with a zero before it', safetensorsBytes('{"a":{"dtype":"U8","shape":[01]'), /whole number/, 36],
    ['a size of 2^53', safetensorsBytes(`{"a":{"dtype":"U8","shape":[${2 ** 53}]`), /whole number/, 36],
    ['65 axes', safetensorsBytes({ a: entry(0, 1, 'U8', new Array(65).fill(1)) }, 1), /the array has 64 numbers/, 164],
    [
      'sizes whose product overflows',
      safetensorsBytes({ a: entry(0, 0, 'U8', [2 ** 52, 2 ** 52, 2 ** 52]) }),
      /should have/,
      9,
    ],
    ['sizes whose product is 2^64', safetensorsBytes({ a: entry(0, 0, 'U8', [2 ** 32, 2 ** 32]) }), /should have/, 9],
    ['too few bytes for the shape', safetensorsBytes({ a: entry(0, 4, 'F32', [2]) }, 4), /should have 8 bytes/, 9],
    ['too many bytes for the shape', safetensorsBytes({ a: entry(0, 5, 'U8', [4]) }, 5), /should have 4 bytes/, 9],
    ['offsets in reverse order', safetensorsBytes({ a: entry(1, 0, 'U8', [0]) }, 1), /data_offsets are \[1, 0\]/, 9],
    ['half a byte', safetensorsBytes({ a: entry(0, 1, 'F4', [1]) }, 1), /should have 0.5 bytes/, 9],
    ['a hole at the start', safetensorsBytes({ a: entry(1, 2) }, 2), /leaves a hole/, 9],
    ['a hole', safetensorsBytes({ a: entry(0, 1), b: entry(2, 3) }, 3), /leaves a hole/, 61],
    ['an overlap', safetensorsBytes({ a: entry(0, 2), b: entry(1, 3) }, 3), /overlaps/, 61],
    ['two tensors at one place', safetensorsBytes({ a: entry(0, 2), b: entry(0, 2) }, 2), /overlaps/, 61],
    ['tensors that end before the file', safetensorsBytes({ a: entry(0, 2) }, 3), /should end the file at byte/, 63],
    ['tensors that end behind the file', safetensorsBytes({ a: entry(0, 4) }, 3), /should end the file at byte/, 64],
    ['an escape that JSON does not have', safetensorsBytes('{"\\x":'), /escape/, 9],
    ['half of a surrogate pair', safetensorsBytes('{"\\ud800":'), /escape/, 9],
    ['a line break in a string', safetensorsBytes('{"a\n'), /the rest of a string/, 11],
  ])('%s is refused with its place', (_, bytes, reason, byteOffset) => {
    const path = write('damaged.safetensors', bytes)
    const error = thrownBy(() => openSafetensors(path))
    expect(error).toBeInstanceOf(WeightsFormatError)
    expect(error.sentence).toMatch(reason)
    expect(error.details).toMatchObject({ path, byteOffset })
  })

  test('a header of the largest size is read, if it is valid', () => {
    const path = write('padded.safetensors', safetensorsBytes('{}'.padEnd(1_000_000)))
    expect(openSafetensors(path).names).toEqual([])
    writeFileSync(path, safetensorsBytes(`{"${'a'.repeat(1_000_000)}`))
    expect(() => openSafetensors(path)).toThrow(WeightsFormatError)
  })
})

import { StringTensor } from '@tenon/tstring'
import { describe, expect, test } from 'vitest'
import {
  AlignmentError,
  ArgumentError,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  tensor,
  UnsupportedError,
} from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import { importBatch, importSchema } from '@tenon/arrow'
import { counts, makeBatch } from './peer.ts'
import { column, Structs } from './structs.ts'

const strings = (column_: ReturnType<typeof column>): string[] => column_.strings().toArray()

describe('a batch', () => {
  test('has the columns of its producer, over the memory of the producer', () => {
    using scope = NativeScope.ofConfined()
    const { schema, array } = makeBatch(scope, 10n)
    using batch = importBatch(schema, array)
    expect(String(batch)).toBe('ArrowBatch of 4 rows ["x" l]')
    const x = batch.column('x')
    expect(x.tensor().toArray()).toEqual([10n, 11n, 12n, 13n])
    expect(x.tensor().segment.address).toBe(x.tensor().segment.address)
    expect([x.dtype, x.length, x.nullCount, x.validity()]).toEqual(['int64', 4, 0, undefined])
    expect(() => batch.column('y')).toThrow('the batch has no column "y"')
  })

  test('takes both structs over: their release functions are null afterwards, and run once', () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const { schema, array } = makeBatch(scope)
    const batch = importBatch(schema, array)
    expect([schema.getInt64(56), array.getInt64(64)]).toEqual([0n, 0n])
    expect(counts()).toEqual({ ...before, schemas: before.schemas + 1 })
    const x = batch.column('x').tensor()
    batch.close()
    expect(counts().arrays).toBe(before.arrays + 1)
    expect(() => x.toArray()).toThrow(ScopeClosedError)
    expect(() => batch.column('x').tensor()).toThrow(ScopeClosedError)
    expect(() => batch.close()).toThrow(ScopeClosedError)
    batch[Symbol.dispose]()
    expect(counts().arrays).toBe(before.arrays + 1)
    expect(() => importBatch(schema, array)).toThrow('schema must be a struct that is not released')
  })

  test('is released with its scope, but not while a hold or a call uses it', () => {
    using structs = NativeScope.ofConfined()
    const before = counts().arrays
    const scope = NativeScope.ofConfined()
    const { schema, array } = makeBatch(structs)
    const batch = importBatch(schema, array, { scope })
    const x = batch.column('x').tensor()
    const view = batch.column('x').tensor({ copy: true })
    const hold = batch.lifetime.acquire()
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(() => batch.close()).toThrow(ArgumentError)
    expect(counts().arrays).toBe(before)
    hold.release()
    scope.close()
    expect(counts().arrays).toBe(before + 1)
    expect(() => x.toArray()).toThrow(ScopeClosedError)
    expect(view.toArray()).toEqual([0n, 1n, 2n, 3n])
  })

  test('is read-only unless its memory may be written', () => {
    using scope = NativeScope.ofConfined()
    const [first, second] = [makeBatch(scope), makeBatch(scope)]
    using batch = importBatch(first.schema, first.array)
    expect(batch.column('x').tensor().segment.readOnly).toBe(true)
    expect(() => batch.column('x').tensor().set([1n, 1n, 1n, 1n])).toThrow(ReadOnlyError)
    using writable = importBatch(second.schema, second.array, { writable: true })
    const x = writable.column('x').tensor().as('int64')
    x.view()[0] = 7n
    expect(writable.column('x').tensor().toArray()[0]).toBe(7n)
  })

  test('shares a schema with other batches', () => {
    using scope = NativeScope.ofConfined()
    const first = makeBatch(scope)
    const schema = importSchema(first.schema)
    expect(String(schema)).toBe('ArrowSchema ["x" l]')
    const second = makeBatch(scope, 4n)
    importSchema(second.schema)
    using one = importBatch(schema, first.array)
    using two = importBatch(schema, second.array)
    expect([one, two].map((batch) => batch.column('x').tensor().toArray()[0])).toEqual([0n, 4n])
  })

  test('of another device is refused and stays that of the producer', () => {
    const structs = new Structs()
    const array = structs.array({ length: 1, buffers: [0, structs.words(1)] })
    const device = (type: number): bigint => {
      const memory = new Structs()
      const words = Array.from({ length: 10 }, (_, i) => structs.read(array, i))
      return memory.words(...words, 0, type, 0, 0, 0, 0)
    }
    const before = counts()
    expect(() => importBatch(structs.schema(), device(2), { device: true })).toThrow(UnsupportedError)
    expect(counts()).toEqual(before)
    using batch = importBatch(structs.schema(), device(1), { device: true })
    expect(batch.columns[0]!.tensor().toArray()).toEqual([1n])
  })

  test.each([
    ['a text', 'x', ArgumentError],
    ['null', 0n, ArgumentError],
    ['an address near null', 8n, ArgumentError],
    ['an address that is not aligned', 4097n, AlignmentError],
    ['an address beyond the address space', 1n << 60n, ArgumentError],
    ['memory that is too small', tensor([1]).segment, ArgumentError],
  ])('is refused if an address is %s', (_, value, kind) => {
    expect(() => importBatch(value as bigint, value as bigint)).toThrow(kind)
  })
})

describe('a column', () => {
  test.each([
    ['c', Int8Array.of(1, -2), 'int8', [1, -2]],
    ['C', Uint8Array.of(1, 255), 'uint8', [1, 255]],
    ['s', Int16Array.of(1, -2), 'int16', [1, -2]],
    ['S', Uint16Array.of(1, 65535), 'uint16', [1, 65535]],
    ['i', Int32Array.of(1, -2), 'int32', [1, -2]],
    ['I', Uint32Array.of(1, 2), 'uint32', [1, 2]],
    ['l', BigInt64Array.of(1n, -2n), 'int64', [1n, -2n]],
    ['L', BigUint64Array.of(1n, 2n), 'uint64', [1n, 2n]],
    ['e', Uint16Array.of(0x3c00, 0xc000), 'float16', [1, -2]],
    ['f', Float32Array.of(1, -2), 'float32', [1, -2]],
    ['g', Float64Array.of(1, -2), 'float64', [1, -2]],
    ['tdD', Int32Array.of(1, -2), 'int32', [1, -2]],
    ['tsu:Europe/Zurich', BigInt64Array.of(1n, -2n), 'int64', [1n, -2n]],
    ['tDn', BigInt64Array.of(1n, -2n), 'int64', [1n, -2n]],
    ['ttm', Int32Array.of(1, -2), 'int32', [1, -2]],
    ['d:9,2,32', Int32Array.of(1, -2), 'int32', [1, -2]],
  ] as const)('of the format %s is a tensor over the memory', (format, values, dtype, expected) => {
    const structs = new Structs()
    const address = structs.bytes(values)
    const { length } = values
    const made = column(format, { length, buffers: [0, address] }, structs)
    expect([made.dtype, made.tensor().toArray()]).toEqual([dtype, expected])
    expect(made.tensor().segment.address).toBe(address)
    const sliced = column(format, { length: 1, offset: 1, buffers: [0, address] }, structs)
    expect(sliced.tensor().toArray()).toEqual([expected[1]])
    expect(sliced.tensor().segment.address).toBe(address + BigInt(values.BYTES_PER_ELEMENT))
  })

  test('of bytes of a fixed size has an axis more', () => {
    const structs = new Structs()
    const bytes = structs.bytes(Uint8Array.from({ length: 32 }, (_, i) => i))
    expect(
      column('w:3', { length: 2, offset: 1, buffers: [0, bytes] }, structs)
        .tensor()
        .toNested(),
    ).toEqual([
      [3, 4, 5],
      [6, 7, 8],
    ])
    expect(column('d:38,2', { length: 2, buffers: [0, bytes] }, structs).tensor().shape).toEqual([2, 16])
    expect(column('tin', { length: 2, buffers: [0, bytes] }, structs).tensor().shape).toEqual([2, 16])
  })

  test('of fixed-size lists has an axis for each level', () => {
    const structs = new Structs()
    const schema = structs.schema({
      format: '+w:2',
      children: [structs.schema({ format: '+w:3', children: [structs.schema({ format: 's' })] })],
    })
    const values = structs.array({
      length: 30,
      offset: 2,
      buffers: [0, structs.bytes(Int16Array.from({ length: 32 }, (_, i) => i))],
    })
    const inner = structs.array({ length: 9, offset: 1, buffers: [0], children: [values] })
    const batch = importBatch(schema, structs.array({ length: 2, offset: 1, buffers: [0], children: [inner] }))
    // 2 values, then a list of 3, then 2 lists of 3, are before it.
    expect(batch.columns[0]!.tensor().toNested()).toEqual([
      [
        [11, 12, 13],
        [14, 15, 16],
      ],
      [
        [17, 18, 19],
        [20, 21, 22],
      ],
    ])
  })

  test('of booleans is copied when asked, from any bit', () => {
    const structs = new Structs()
    const bits = structs.bytes(Uint8Array.of(0b1010_0110, 0b101))
    const made = column('b', { length: 8, offset: 3, buffers: [0, bits] }, structs)
    expect(() => made.tensor()).toThrow('Copy them to bytes with tensor({ copy: true })')
    expect(made.tensor({ copy: true }).toArray()).toEqual([false, false, true, false, true, true, false, true])
    expect(made.dtype).toBe('bool')
  })

  test('says which elements are null, counted by the producer or here', () => {
    const structs = new Structs()
    const bits = structs.bytes(Uint8Array.of(0b1010_0110, 0b101))
    const values = structs.bytes(new Int8Array(16))
    for (const nullCount of [4, -1]) {
      const made = column('c', { length: 8, offset: 3, nullCount, buffers: [bits, values] }, structs)
      expect(made.nullCount).toBe(4)
      expect(made.validity()!.toArray()).toEqual([false, false, true, false, true, true, false, true])
    }
    expect(column('c', { length: 8, nullCount: 0, buffers: [bits, values] }, structs).validity()).toBe(undefined)
    expect(column('c', { length: 8, nullCount: -1, buffers: [0, values] }, structs).nullCount).toBe(0)
  })

  test('that is not aligned can be copied', () => {
    const structs = new Structs()
    const address = structs.bytes(Uint8Array.of(0, 1, 0, 0, 0, 2, 0, 0, 0)) + 1n
    const made = column('i', { length: 2, buffers: [0, address] }, structs)
    expect(() => made.tensor()).toThrow(AlignmentError)
    expect(made.tensor({ copy: true }).toArray()).toEqual([1, 2])
  })

  test.each(['u', 'U', 'z', 'Z'])('of strings (%s) is a string tensor, with slices, nulls and gaps', (format) => {
    const structs = new Structs()
    const data = structs.bytes('..a long string that no struct holdsΩb')
    const ends = [2, 36, 36, 38, 39]
    const isNarrow = format === 'u' || format === 'z'
    const offsets = structs.bytes(isNarrow ? Int32Array.from(ends) : BigInt64Array.from(ends, BigInt))
    const all = column(format, { length: 4, buffers: [0, offsets, data] }, structs)
    expect(all.strings()).toBeInstanceOf(StringTensor)
    expect(strings(all)).toEqual(['a long string that no struct holds', '', 'Ω', 'b'])
    expect(all.strings({ copy: true }).toArray()).toEqual(strings(all))
    const validity = structs.bytes(Uint8Array.of(0b1011))
    expect(
      strings(column(format, { length: 3, offset: 1, nullCount: 1, buffers: [validity, offsets, data] }, structs)),
    ).toEqual(['', '', 'b'])
    expect(strings(column(format, { length: 0, buffers: [0, 0, 0] }, structs))).toEqual([])
  })

  test('of string views is a string tensor', () => {
    const structs = new Structs()
    const long = 'a string of more than 12 bytes'
    const views = Buffer.alloc(48)
    views.writeInt32LE(5, 0)
    views.write('short', 4)
    views.writeInt32LE(long.length, 16)
    views.write('a st', 20)
    views.writeInt32LE(1, 24)
    views.writeInt32LE(3, 28)
    const buffers = [0, structs.bytes(views), structs.bytes('unused'), structs.bytes(`...${long}`)]
    const made = column('vu', { length: 3, buffers: [...buffers, structs.words(6, 3 + long.length)] }, structs)
    expect(strings(made)).toEqual(['short', long, ''])
    const short = column('vu', { length: 3, buffers: [...buffers, structs.words(6, 2 + long.length)] }, structs)
    expect(() => short.strings()).toThrow('arrow-range')
  })

  test('of strings ends with the batch, unless it is copied', () => {
    const structs = new Structs()
    const text = 'longer than a struct holds, so that it stays in the batch'
    const buffers = [0, structs.bytes(Int32Array.of(0, text.length)), structs.bytes(text)]
    const batch = importBatch(structs.schema({ format: 'u' }), structs.array({ length: 1, buffers }))
    const [view, copy] = [batch.columns[0]!.strings(), batch.columns[0]!.strings({ copy: true })]
    expect(view.get(0)).toBe(text)
    batch.close()
    expect(() => view.get(0)).toThrow(ScopeClosedError)
    expect(copy.get(0)).toBe(text)
  })

  test('of lists has offsets and a child', () => {
    const structs = new Structs()
    const schema = structs.schema({ format: '+l', children: [structs.schema({ name: 'item' })] })
    const child = structs.array({ length: 3, buffers: [0, structs.words(7, 8, 9)] })
    const list = (...ends: number[]): bigint =>
      structs.array({ length: ends.length - 1, buffers: [0, structs.bytes(Int32Array.from(ends))], children: [child] })
    const made = importBatch(importSchema(schema), list(0, 1, 3)).columns[0]!
    expect([made.offsets().toArray(), made.children[0]!.tensor().toArray()]).toEqual([
      [0, 1, 3],
      [7n, 8n, 9n],
    ])
    expect(() => made.tensor()).toThrow(UnsupportedError)
  })

  test('with a dictionary has indices and values', () => {
    const structs = new Structs()
    const schema = structs.schema({ format: 'c', dictionary: structs.schema({ format: 'g' }) })
    const dictionary = structs.array({ length: 2, buffers: [0, structs.bytes(Float64Array.of(0.5, 1.5))] })
    const array = structs.array({ length: 3, buffers: [0, structs.bytes(Int8Array.of(1, 0, 1))], dictionary })
    const made = importBatch(schema, array).columns[0]!
    expect(made.tensor().toArray()).toEqual([1, 0, 1])
    expect(made.dictionary!.tensor().toArray()).toEqual([0.5, 1.5])
  })

  test('of a struct has children, of which it uses its part', () => {
    const structs = new Structs()
    const schema = structs.schema({ format: '+s', children: [structs.schema({ name: 'a' })] })
    const child = structs.array({ length: 5, offset: 1, buffers: [0, structs.words(0, 1, 2, 3, 4, 5)] })
    const batch = importBatch(schema, structs.array({ length: 2, offset: 2, buffers: [0], children: [child] }))
    expect(batch.column('a').tensor().toArray()).toEqual([3n, 4n])
  })

  test('of a type without data that Tenon reads is refused when it is read', () => {
    const structs = new Structs()
    const made = column('+vl', { length: 1, buffers: [0, 0, 0] }, structs)
    expect(() => made.tensor()).toThrow('has no tensor()')
    expect(() => made.strings()).toThrow('has no strings()')
    expect(column('n', { length: 3 }, structs).dtype).toBe(undefined)
  })

  test('has the metadata of its field', () => {
    const structs = new Structs()
    const text = Buffer.alloc(4 + 4 + 3 + 4 + 2)
    text.writeInt32LE(1, 0)
    text.writeInt32LE(3, 4)
    text.write('key', 8)
    text.writeInt32LE(2, 11)
    text.write('of', 15)
    const { fields } = importSchema(structs.schema({ metadata: structs.bytes(text) }))
    expect(Object.fromEntries(fields[0]!.metadata)).toEqual({ key: 'of' })
  })
})

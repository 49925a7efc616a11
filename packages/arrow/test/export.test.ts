import { StringTensor } from '@tenon/tstring'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ArgumentError, from, ScopeClosedError, ScopeHeldError, tensor, UnsupportedError } from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import {
  type ArrowBatch,
  exportBatch,
  exportColumn,
  exportStream,
  importBatch,
  importSchema,
  importStream,
  type ExportColumns,
} from '@tenon/arrow'
import { peer } from './peer.ts'

/** Exports a batch, and imports it again. */
function roundTrip(columns: ExportColumns): ArrowBatch {
  using exported = exportBatch(columns)
  return importBatch(exported.schema, exported.array)
}

describe('an exported batch', () => {
  test('is over the memory of its tensors', () => {
    const [x, y] = [tensor('f32', [3], [1, 2, 3]), tensor('i64', [3], [4n, 5n, 6n])]
    using batch = roundTrip({ x, y })
    expect(batch.column('x').tensor().segment.address).toBe(x.segment.address)
    expect(batch.column('y').tensor().segment.address).toBe(y.segment.address)
    expect(batch.column('x').tensor().toArray()).toEqual([1, 2, 3])
    expect(String(batch)).toBe('ArrowBatch of 3 rows ["x" f, "y" l]')
  })

  test.each(['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'f16', 'f32', 'f64'] as const)(
    'has elements of the type %s',
    (dtype) => {
      const x = tensor(dtype, [2], [1, 2])
      expect(roundTrip({ x }).column('x').tensor().toArray()).toEqual([1, 2])
      expect(roundTrip({ x }).column('x').dtype).toBe(x.dtype)
    },
  )

  test('has lists for tensors with more axes, and copies of tensors with strides', () => {
    const x = tensor(
      'i32',
      [2, 2, 3],
      Array.from({ length: 12 }, (_, i) => i),
    )
    expect(roundTrip({ x }).column('x').field.format).toBe('+w:2')
    expect(roundTrip({ x }).column('x').tensor().toNested()).toEqual(x.toNested())
    const t = tensor('i32', [2, 3], [1, 2, 3, 4, 5, 6]).transpose()
    expect(roundTrip({ t }).column('t').tensor().toNested()).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ])
    const sliced = tensor('i32', [6], [1, 2, 3, 4, 5, 6]).slice([1, 5, 2])
    expect(roundTrip({ sliced }).column('sliced').tensor().toArray()).toEqual(sliced.toArray())
  })

  test('has no rows if its tensors have none', () => {
    using batch = roundTrip({ x: tensor('f32', [0]), y: tensor('f32', [0, 4]), s: StringTensor.from([]) })
    expect([batch.length, batch.column('y').tensor().shape]).toEqual([0, [0, 4]])
    expect(batch.column('s').strings().toArray()).toEqual([])
    expect(roundTrip({}).columns).toEqual([])
  })

  test('has booleans as bits, and nulls', () => {
    const flags = tensor(
      'bool',
      [10],
      Array.from({ length: 10 }, (_, i) => i % 3 === 0),
    )
    using batch = roundTrip({ flags, x: { values: tensor('f32', [10]), validity: flags } })
    expect(batch.column('flags').tensor({ copy: true }).toArray()).toEqual(flags.toArray())
    expect(batch.column('x').nullCount).toBe(6)
    expect(batch.column('x').validity()!.toArray()).toEqual(flags.toArray())
    expect(batch.column('flags').validity()).toBe(undefined)
  })

  test.each(['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const)('has the strings of the layout %s', (layout) => {
    const words = ['', 'short', 'longer than the largest struct of any layout', 'Ωmega']
    const values = StringTensor.from(words, { layout })
    const validity = tensor('bool', [4], [true, false, true, true])
    using batch = roundTrip({ s: { values, validity } })
    expect(batch.column('s').strings().toArray()).toEqual(['', '', words[2], words[3]])
    expect(batch.column('s').validity()!.toArray()).toEqual([true, false, true, true])
  })

  test('refuses strings that are not text, and takes them as bytes', () => {
    const values = StringTensor.from([Uint8Array.of(0xff), 'a'])
    expect(() => exportBatch({ values })).toThrow('must have strings in UTF-8')
    const split = StringTensor.from([Uint8Array.of(0xce), Uint8Array.of(0xa9)])
    expect(() => exportBatch({ split })).toThrow('must have strings in UTF-8')
    using batch = roundTrip({ values: { values, format: 'z' } })
    expect(batch.column('values').field.format).toBe('z')
  })

  test('has a format of the same memory', () => {
    using batch = roundTrip({ at: { values: tensor('i64', [1], [5n]), format: 'tsu:UTC' } })
    expect([batch.column('at').field.format, batch.column('at').tensor().toArray()]).toEqual(['tsu:UTC', [5n]])
  })

  test.each([
    ['a number', 7, ArgumentError],
    ['a scalar', tensor(7), ArgumentError],
    ['a type that Arrow does not have', tensor('bf16', [1]), UnsupportedError],
    ['complex numbers', tensor('c64', [1]), UnsupportedError],
    ['a format of other elements', { values: tensor([1]), format: 'l' }, ArgumentError],
    ['a format that Arrow does not have', { values: tensor([1]), format: 'q' }, Error],
    ['a validity of another length', { values: tensor([1]), validity: tensor('bool', [2]) }, ArgumentError],
    ['a validity of another type', { values: tensor([1]), validity: tensor([1]) }, ArgumentError],
    ['an unknown option', { values: tensor([1]), formt: 'f' }, ArgumentError],
    ['a plain string tensor', { layout: 'tf', shape: [1], segment: tensor([1]).segment }, ArgumentError],
  ])('refuses a column that is %s', (_, x, kind) => {
    expect(() => exportBatch({ x } as never)).toThrow(kind)
  })

  test('refuses columns of different lengths, by name', () => {
    expect(() => exportBatch({ x: tensor([1]), y: tensor([1, 2]) })).toThrow('column "y" must be 1 rows')
  })

  test('is a column that stands alone with exportColumn()', () => {
    using exported = exportColumn(tensor([1, 2]), { name: 'n', validity: tensor('bool', [2], [true, false]) })
    using batch = importBatch(exported.schema, exported.array)
    expect([batch.columns.length, batch.column('n').nullCount]).toEqual([1, 1])
  })
})

describe('the field of an export', () => {
  const metadata = new Map([
    ['unit', '€'],
    ['', 'empty key'],
    ['note', ''],
  ])

  test('has the metadata of its column, also in a stream and of an imported schema', () => {
    const x = { values: tensor([1, 2]), metadata }
    using exported = exportBatch({ x, y: tensor([3, 4]) })
    using batch = importBatch(exported.schema, exported.array)
    expect(batch.columns.map(({ field }) => [...field.metadata])).toEqual([[...metadata], []])
    using column = exportColumn(tensor([1]), { name: 'x', metadata })
    expect([...importSchema(column.schema).metadata]).toEqual([...metadata])
    using stream = exportStream([{ x }, { x: tensor([5]) }])
    const read = importStream(stream.stream)
    expect([...read.schema.fields[0]!.metadata]).toEqual([...metadata])
    expect(Array.from(read, ({ length }) => length)).toEqual([2, 1])
    using again = exportStream([{ x: tensor([5]) }], { schema: read.schema })
    const copy = importStream(again.stream)
    expect([...copy.schema.fields[0]!.metadata]).toEqual([...metadata])
    expect(Array.from(copy, ({ length }) => length)).toEqual([1])
  })

  test.each([
    [{ unit: 'm' }],
    [new Map([['unit', 1]])],
    [new Map([[1, 'm']])],
    ['m'],
    [new Map([['a', 'x'.repeat(2 ** 24)]])],
  ])('is refused with metadata that are no Map of texts: case %#', (other) => {
    const column = { values: tensor([1]), metadata: other as never }
    expect(() => exportBatch({ x: column })).toThrow(/metadata of column "x" must be a Map of texts/)
  })
})

test('columns are tensors of other libraries', () => {
  const data = Float32Array.of(1, 2, 3)
  const array = { data, shape: [3], stride: [1], offset: 0 }
  using exported = exportBatch({ a: data, b: { data, dims: [3] }, c: { values: array } })
  using batch = importBatch(exported.schema, exported.array)
  const { address } = from(data).segment
  expect(batch.columns.map((column) => column.tensor().segment.address)).toEqual([address, address, address])
  const reversed = { data, shape: [3], stride: [-1], offset: 2 }
  expect(() => exportBatch({ a: reversed })).toThrow(/column "a" must have no negative/)
  expect(() => exportBatch({ a: [1, 2] as never })).toThrow(/column "a" must be a tensor/)
})

describe('the memory of an export', () => {
  const take = (scope: NativeScope): void => {
    const x = tensor('i64', [3], [1n, 2n, 3n], { allocator: scope })
    using exported = exportBatch({ x })
    peer.takeArray(exported.array)
  }

  test('is held until its consumer releases it, and a close right after a release is not refused', () => {
    const scope = NativeScope.ofConfined()
    take(scope)
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(peer.sumTaken()).toBe(6n)
    peer.releaseTaken()
    scope.close()
  })

  test('is released by another thread', async () => {
    const scope = NativeScope.ofConfined()
    take(scope)
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(await peer.releaseTakenOnThread.async()).toBe(0)
    await scope.closeAsync({ deadline: 5000 })
  })

  test('is let go by the event loop alone', async () => {
    const scope = NativeScope.ofConfined()
    const made = (): WeakRef<object> => {
      const x = tensor('i64', [3], [1n, 2n, 3n], { allocator: scope })
      using exported = exportBatch({ x })
      peer.takeArray(exported.array)
      return new WeakRef(x)
    }
    made()
    await peer.releaseTakenOnThread.async()
    for (let i = 0; i < 100 && scope['gate'].holds !== 0; i++) await setImmediate()
    expect(scope['gate'].holds).toBe(0)
    scope.close()
  })

  test('is held while a child lives that its consumer has moved out', () => {
    const scope = NativeScope.ofConfined()
    take(scope)
    peer.takeChild()
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(peer.sumTaken()).toBe(6n)
    peer.releaseTaken()
    scope.close()
  })

  test('is released if no consumer has moved the structs', () => {
    const scope = NativeScope.ofConfined()
    const x = tensor('i64', [3], [1n, 2n, 3n], { allocator: scope })
    const exported = exportBatch({ x })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    exported.close()
    scope.close()
    expect(() => exported.close()).toThrow(ScopeClosedError)
    expect(() => importBatch(exported.schema, exported.array)).toThrow(ScopeClosedError)
    expect(() => exportBatch({ x })).toThrow(ScopeClosedError)
  })

  test('is not held if the export fails', () => {
    const scope = NativeScope.ofConfined()
    const x = tensor('i64', [3], [1n, 2n, 3n], { allocator: scope })
    expect(() => exportBatch({ x, y: tensor([1]) })).toThrow(ArgumentError)
    scope.close()
  })
})

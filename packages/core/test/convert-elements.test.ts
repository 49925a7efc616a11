import { describe, expect, expectTypeOf, test } from 'vitest'
import { dtypes, from, gcAllocator, tensor, tensorType, type DType, type DTypeInfo, type Tensor } from '../src/index.ts'
import { decodeMiniFloat, encodeMiniFloat, isMiniFloat } from '../src/types/minifloat.ts'
import { ArgumentError, ReadOnlyError, ScopeClosedError } from '../src/errors/kinds.ts'
import { READ_ONLY, Segment } from '../src/memory/segment.ts'

const small = dtypes.filter(({ kind, bits }) => bits <= 16 && kind !== 'bool')
const floats = small.filter(({ name }) => isMiniFloat(name))
const integers = small.filter(({ kind }) => kind !== 'float')
const names = (infos: readonly DTypeInfo[]): DType[] => infos.map(({ name }) => name)

/** All codes of a type, as a tensor. */
function allCodes(name: DType): Tensor {
  const { bits } = dtypes.find((info) => info.name === name)!
  const count = 2 ** bits
  const codes =
    bits === 16 ? Uint16Array.from({ length: count }, (_, i) => i) : Uint8Array.from({ length: count }, (_, i) => i)
  const x = tensor(name, [count])
  new Uint8Array(x.view().buffer, x.view().byteOffset, codes.byteLength).set(new Uint8Array(codes.buffer))
  return x
}

/** Float32 numbers of random bits, and those around which the rounding of small floats changes. */
function randomFloats(count: number, seed: number): Float32Array {
  const words = new Uint32Array(count)
  let state = seed
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    let word = (state ^ (state >>> 13)) >>> 0
    // Every second one lies near 1, and every fourth one is a tie or beside a tie.
    if (i % 2 === 1) word = (word & 0x87ffffff) | 0x38000000
    if (i % 4 === 1) word = (word & 0xfff00000) + [0x80000, 0x7ffff, 0x80001, 0][(i >> 2) % 4]!
    words[i] = word
  }
  return new Float32Array(words.buffer)
}

const edges = new Float32Array([
  0,
  -0,
  Infinity,
  -Infinity,
  NaN,
  1,
  -1,
  448,
  464,
  465,
  240,
  248,
  57344,
  61440,
  61441,
  65504,
  65519.99,
  65520,
  6,
  5,
  5.01,
  7,
  3.4e38,
  -3.4028234663852886e38,
  2 ** -149,
  2 ** -133,
  2 ** -127,
  1.5 * 2 ** -127,
  1.51 * 2 ** -127,
  2 ** -126,
  2 ** -24,
  2 ** -25,
  1.1 * 2 ** -25,
  2 ** -10,
  3 * 2 ** -11,
  2 ** -18,
  2 ** -19,
  0.5,
  1.5,
  2.5,
  -0.5,
  -1.5,
  127.5,
  128.5,
  255.5,
  32767.5,
  65535.5,
  -32768.5,
  2 ** 23,
  2 ** 31,
])

describe('x.to(dtype)', () => {
  test.each(names(floats))('converts each code of %s to the number that at() reads', (name) => {
    const x = allCodes(name)
    const numbers = x.to('float32').view()
    const different = [...numbers].findIndex(
      (number, code) => !Object.is(number, decodeMiniFloat(name as 'float16', code)),
    )
    expect(different).toBe(-1)
    expect(numbers.length).toBe(x.shape[0])
  })

  test.each(names(floats))('rounds float32 to %s as set() does', (name) => {
    const numbers = new Float32Array([...edges, ...randomFloats(100_000, 7)])
    const codes = from(numbers).to(name).view() as Uint16Array
    const wanted = [...numbers].map((number) => encodeMiniFloat(name as 'float16', number))
    const different = wanted.findIndex((code, i) => code !== codes[i])
    expect([numbers[different], wanted[different]]).toEqual([numbers[different], codes[different]])
    expect(different).toBe(-1)
  })

  test.each(names(integers))('converts each code of %s and back', (name) => {
    const x = tensor(name, [allCodes(name).shape[0]!], allCodes(name).toArray() as never)
    const numbers = x.to('float32')
    expect([...numbers.view()]).toEqual(x.toArray())
    expect(numbers.to(name).equals(x)).toBe(true)
  })

  test('rounds to whole numbers with ties to even, and clamps them', () => {
    const x = from(
      new Float32Array([0.5, 1.5, 2.5, -0.5, -1.5, 7.4, 7.6, -8.6, 1e30, -1e30, Infinity, -Infinity, NaN, -0]),
    )
    expect(x.to('int4').toArray()).toEqual([0, 2, 2, 0, -2, 7, 7, -8, 7, -8, 7, -8, 0, 0])
    expect(x.to('uint4').toArray()).toEqual([0, 2, 2, 0, 0, 7, 8, 0, 15, 0, 15, 0, 0, 0])
    expect(x.to('int16').toArray().slice(8, 12)).toEqual([32767, -32768, 32767, -32768])
    expect(x.to('uint16').toArray().slice(8, 12)).toEqual([65535, 0, 65535, 0])
    expect(x.to('int1').toArray().slice(7, 9)).toEqual([-1, 0])
  })

  test('converts between two small types with one rounding', () => {
    expect(
      tensor('f16', [2], new Float32Array([1.0625, 448]))
        .to('float8_e4m3fn')
        .toArray(),
    ).toEqual([1, 448])
    expect(tensor('int8', [3], [-128, 0, 127]).to('bfloat16').toArray()).toEqual([-128, 0, 127])
  })

  test('returns a row-major copy where the type stays the same, NaNs included', () => {
    const x = tensor('bf16', [2, 2], Uint16Array.of(0x7fc1, 1, 2, 0xffff))
    const copy = x.transpose().to('bf16')
    expect(copy.isContiguous).toBe(true)
    expect([...copy.view()]).toEqual([0x7fc1, 2, 1, 0xffff])
    expect(copy.address).not.toBe(x.address)
  })

  test('reads strides, and writes them into a tensor with strides', () => {
    const x = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect(x.transpose().to('f16').toNested()).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ])
    const y = tensor('f16', [2, 3])
    const into = y.transpose()
    expect(x.transpose().to('f16', { into })).toBe(into)
    expect(y.toNested()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
  })

  test('reads and writes packed elements, and keeps those behind a packed part', () => {
    const packed = tensor('int4', [5], [1, -2, 3, -8, 7], { packing: 'packed' })
    expect(packed.to('f32').toArray()).toEqual([1, -2, 3, -8, 7])
    const y = tensor('int4', [4], [7, 7, 7, 7], { packing: 'packed' })
    from(new Float32Array([1, 2, 3])).to('int4', { into: y.slice([0, 3]) })
    expect(y.toArray()).toEqual([1, 2, 3, 7])
    const fp4 = tensor('float4_e2m1fn', [3], new Float32Array([0.5, -6, 3]), { packing: 'packed' })
    expect(fp4.to('float16').toArray()).toEqual([0.5, -6, 3])
    expect(tensor('uint1', [9], [1, 0, 1, 1, 0, 0, 1, 0, 1], { packing: 'packed' }).to('int2').toArray()).toEqual([
      1, 0, 1, 1, 0, 0, 1, 0, 1,
    ])
  })

  test('converts no elements, and a scalar', () => {
    expect(tensor('f32', [2, 0]).to('bf16').shape).toEqual([2, 0])
    expect(tensor('f32', [], [2.5]).to('f16').item()).toBe(2.5)
  })

  test('refuses other types, and an into that does not fit, before it writes', () => {
    const x = tensor([1, 2])
    expect(() => x.to('float64')).toThrow('got float64')
    expect(() => tensor('bool', [1]).to('float32')).toThrow('got bool')
    expect(() => tensor('complex64', [1]).to('float32')).toThrow(ArgumentError)
    expect(() => x.to('nonsense' as 'f32')).toThrow(ArgumentError)
    for (const into of [tensor('f16', [3]), tensor('bf16', [2]), 5, null, new Proxy(tensor('f16', [2]), {})])
      expect(() => x.to('f16', { into: into as Tensor<'float16'> })).toThrow(ArgumentError)
    expect(() => x.to('f16', { onto: 1 } as object)).toThrow('onto')
    const segment = gcAllocator.allocate(64, 64)
    const source = tensor('f32', [2], segment)
    expect(() => source.to('f16', { into: tensor('f16', [2], segment) })).toThrow('overlap')
    expect(source.toArray()).toEqual([0, 0])
  })

  test('refuses read-only, closed and device memory', () => {
    const x = tensor([1, 2])
    const { block, base } = gcAllocator.allocate(4, 4)
    const readOnly = tensor('f16', [2], new Segment(block, base, 4, READ_ONLY))
    expect(() => x.to('f16', { into: readOnly })).toThrow(ReadOnlyError)
    expect(readOnly.to('f32').toArray()).toEqual([0, 0])
    const remote = tensor('f16', [2], gcAllocator.allocate(4, 4), { device: { type: 2, id: 0 } })
    expect(() => remote.to('f32')).toThrow('CPU')
    expect(() => x.to('f16', { into: remote })).toThrow('CPU')
    const view = from(new Float32Array(2))
    structuredClone(view.view().buffer, { transfer: [view.view().buffer as ArrayBuffer] })
    expect(() => view.to('f16')).toThrow(ScopeClosedError)
  })

  test('has the element type of its name', () => {
    expectTypeOf(tensor([1]).to('bf16')).toEqualTypeOf<Tensor<'bfloat16'>>()
    expect(tensor([1]).to('bf16').type).toBe(tensorType('bfloat16', [1]))
  })
})

describe('a Float32Array', () => {
  test.each(names(floats))('is rounded to %s by tensor() and set()', (name) => {
    const numbers = new Float32Array([1, -0.75, 0.5, 3])
    const x = tensor(name as 'bfloat16', [2, 2], numbers)
    expect(x.equals(from(numbers, [2, 2]).to(name) as never)).toBe(true)
    const y = tensor(name as 'bfloat16', [2, 2])
    y.transpose().set(numbers)
    expect(y.equals(x.transpose().copy())).toBe(true)
  })

  test('must have one number for each element', () => {
    expect(() => tensor('f16', [3], new Float32Array(2))).toThrow('Uint16Array(3)')
    expect(() => tensor('int4', [2], new Float32Array(2) as never)).toThrow(ArgumentError)
    expect(tensor('f16', [0], new Float32Array()).toArray()).toEqual([])
  })
})

const { Float16Array } = globalThis as unknown as { Float16Array?: Float16ArrayConstructor }
describe('view(Float16Array)', () => {
  if (Float16Array !== undefined) {
    test('is over the memory of a float16 tensor', () => {
      const x = tensor('f16', [2], [1.5, 2])
      const view = x.view(Float16Array)
      expect([...view]).toEqual([1.5, 2])
      view[0] = 0.25
      expect(x.toArray()).toEqual([0.25, 2])
      expect(x.view()).toBeInstanceOf(Uint16Array)
    })

    test('is refused for other element types', () => {
      expect(() => tensor('bf16', [1]).view(Float16Array)).toThrow('only float16 tensors')
    })
  }

  test('takes no other class', () => {
    expect(() => tensor('f16', [1]).view(Float32Array as never)).toThrow('Float16Array, or nothing')
    expect(() => tensor('f32', [1]).view(null as never)).toThrow(ArgumentError)
  })
})

import {
  ArgumentError,
  dtypes,
  tensor,
  tensorType,
  type Canonical,
  type DType,
  type Element,
  type Tensor,
  type TensorType,
  type TypedArray,
} from '@tenon/core'
import type { Aliases, ElementTypes } from '../src/types/element-types.ts'
import { expect, expectTypeOf, test } from 'vitest'

const name: string = ['f32'].join('')
const untyped: Tensor = tensor('f32', [2])
const matmul = <T extends DType>(a: Tensor<T>, _b: Tensor<NoInfer<T>>): Tensor<T> => a
const add = <T extends DType>(a: Tensor<T>, _b: Tensor<T>): Tensor<T> => a

test('names and aliases give the element type', () => {
  expectTypeOf(tensor('f32', [2])).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(tensor('pred', [2])).toEqualTypeOf<Tensor<'bool'>>()
  expectTypeOf(tensorType('s64', [2])).toEqualTypeOf<TensorType<'int64'>>()
  expectTypeOf(tensor(name, [2])).toEqualTypeOf<Tensor>()
  expectTypeOf<Canonical<'f32' | 'int8'>>().toEqualTypeOf<'float32' | 'int8'>()
  expectTypeOf<keyof ElementTypes>().toEqualTypeOf<DType>()
  expectTypeOf<Tensor>().toEqualTypeOf<Tensor<DType>>()
  expectTypeOf(untyped.dtype).toEqualTypeOf<DType>()
})

test('elements and arrays', () => {
  expectTypeOf(tensor('f32', [2]).view()).toEqualTypeOf<Float32Array>()
  expectTypeOf(tensor('s64', [2]).view()).toEqualTypeOf<BigInt64Array>()
  expectTypeOf(tensor('bf16', [2]).view()).toEqualTypeOf<Uint16Array>()
  expectTypeOf(untyped.view()).toEqualTypeOf<TypedArray>()
  expectTypeOf(tensor('f32', [2]).toArray()).toEqualTypeOf<number[]>()
  expectTypeOf(tensor('u64', [2]).toArray()).toEqualTypeOf<bigint[]>()
  expectTypeOf(tensor('bool', [2]).toArray()).toEqualTypeOf<boolean[]>()
  expectTypeOf(tensor('c64', [2]).toArray()).toEqualTypeOf<(readonly [real: number, imaginary: number])[]>()
  expectTypeOf(untyped.toArray()).toEqualTypeOf<Element[]>()
  tensor('s64', [2], [1, 2n])
  tensor('bool', [2], [true, 0])
  tensor('c64', [2], [1, [2, 3]])
  // @ts-expect-error a float is not a bigint
  expect(() => tensor('f32', [1], [1n])).toThrow(ArgumentError)
  // @ts-expect-error 2 is not a bool
  expect(() => tensor('bool', [1], [2])).toThrow(ArgumentError)
  // @ts-expect-error float64 values for float32
  expect(() => tensor('f32', [1], new Float64Array(1))).toThrow(ArgumentError)
  // @ts-expect-error a string is not an element
  expect(() => tensor('f32', [['a']])).toThrow(ArgumentError)
})

test('a literal without an element type', () => {
  expectTypeOf(
    tensor([
      [1, 2],
      [3, 4],
    ]),
  ).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(tensor([1n])).toEqualTypeOf<Tensor<'int64'>>()
  expectTypeOf(tensor([[true]])).toEqualTypeOf<Tensor<'bool'>>()
  expectTypeOf(tensor(1)).toEqualTypeOf<Tensor<'float32'>>()
  // @ts-expect-error elements of several kinds
  expect(() => tensor([1, 2n])).toThrow(ArgumentError)
})

test('a tensor of one type is a tensor, and not the other way round', () => {
  expectTypeOf<Tensor<'float32'>>().toExtend<Tensor>()
  expectTypeOf<Tensor>().not.toExtend<Tensor<'float32'>>()
  expectTypeOf<Tensor<'float64'>>().not.toExtend<Tensor<'float32'>>()
  const [a, b] = [tensor('f32', [1]), tensor('f64', [1])]
  expectTypeOf(matmul(a, a)).toEqualTypeOf<Tensor<'float32'>>()
  // The element types of both operands are inferred as a union without NoInfer.
  expectTypeOf(add(a, b)).toEqualTypeOf<Tensor<'float32' | 'float64'>>()
  // @ts-expect-error b must have the element type of a
  matmul(a, b)
})

test('the table of types is the table of dtypes', () => {
  const aliases: { readonly [Name in keyof Aliases]: Aliases[Name] } = {
    pred: 'bool',
    b1: 'bool',
    s1: 'int1',
    i1: 'int1',
    s2: 'int2',
    i2: 'int2',
    s4: 'int4',
    i4: 'int4',
    s8: 'int8',
    i8: 'int8',
    s16: 'int16',
    i16: 'int16',
    s32: 'int32',
    i32: 'int32',
    s64: 'int64',
    i64: 'int64',
    u1: 'uint1',
    u2: 'uint2',
    u4: 'uint4',
    u8: 'uint8',
    u16: 'uint16',
    u32: 'uint32',
    u64: 'uint64',
    f16: 'float16',
    bf16: 'bfloat16',
    f32: 'float32',
    f64: 'float64',
    c64: 'complex64',
    c128: 'complex128',
    f4e2m1fn: 'float4_e2m1fn',
    f8e3m4: 'float8_e3m4',
    f8e4m3: 'float8_e4m3',
    f8e4m3b11fnuz: 'float8_e4m3b11fnuz',
    f8e4m3fn: 'float8_e4m3fn',
    f8e4m3fnuz: 'float8_e4m3fnuz',
    f8e5m2: 'float8_e5m2',
    f8e5m2fnuz: 'float8_e5m2fnuz',
    f8e8m0fnu: 'float8_e8m0fnu',
  }
  expect(dtypes.length).toBe(30)
  expect(Object.fromEntries(dtypes.flatMap((row) => row.aliases.map((alias) => [alias, row.name])))).toEqual(aliases)
})

/**
 * The element types as TypeScript sees them: one row for each canonical name, with the TypedArray over the elements (or over
 * their raw bits, if JavaScript lacks the type) and the value of one element.
 */
export interface ElementTypes {
  readonly bool: { array: Uint8Array; element: boolean }
  readonly int1: { array: Int8Array; element: number }
  readonly int2: { array: Int8Array; element: number }
  readonly int4: { array: Int8Array; element: number }
  readonly int8: { array: Int8Array; element: number }
  readonly int16: { array: Int16Array; element: number }
  readonly int32: { array: Int32Array; element: number }
  readonly int64: { array: BigInt64Array; element: bigint }
  readonly uint1: { array: Uint8Array; element: number }
  readonly uint2: { array: Uint8Array; element: number }
  readonly uint4: { array: Uint8Array; element: number }
  readonly uint8: { array: Uint8Array; element: number }
  readonly uint16: { array: Uint16Array; element: number }
  readonly uint32: { array: Uint32Array; element: number }
  readonly uint64: { array: BigUint64Array; element: bigint }
  readonly float16: { array: Uint16Array; element: number }
  readonly bfloat16: { array: Uint16Array; element: number }
  readonly float32: { array: Float32Array; element: number }
  readonly float64: { array: Float64Array; element: number }
  readonly complex64: { array: Float32Array; element: Complex }
  readonly complex128: { array: Float64Array; element: Complex }
  readonly float4_e2m1fn: { array: Uint8Array; element: number }
  readonly float8_e3m4: { array: Uint8Array; element: number }
  readonly float8_e4m3: { array: Uint8Array; element: number }
  readonly float8_e4m3b11fnuz: { array: Uint8Array; element: number }
  readonly float8_e4m3fn: { array: Uint8Array; element: number }
  readonly float8_e4m3fnuz: { array: Uint8Array; element: number }
  readonly float8_e5m2: { array: Uint8Array; element: number }
  readonly float8_e5m2fnuz: { array: Uint8Array; element: number }
  readonly float8_e8m0fnu: { array: Uint8Array; element: number }
}

/** The short names of element types, and their canonical names. */
export interface Aliases {
  readonly pred: 'bool'
  readonly b1: 'bool'
  readonly s1: 'int1'
  readonly i1: 'int1'
  readonly s2: 'int2'
  readonly i2: 'int2'
  readonly s4: 'int4'
  readonly i4: 'int4'
  readonly s8: 'int8'
  readonly i8: 'int8'
  readonly s16: 'int16'
  readonly i16: 'int16'
  readonly s32: 'int32'
  readonly i32: 'int32'
  readonly s64: 'int64'
  readonly i64: 'int64'
  readonly u1: 'uint1'
  readonly u2: 'uint2'
  readonly u4: 'uint4'
  readonly u8: 'uint8'
  readonly u16: 'uint16'
  readonly u32: 'uint32'
  readonly u64: 'uint64'
  readonly f16: 'float16'
  readonly bf16: 'bfloat16'
  readonly f32: 'float32'
  readonly f64: 'float64'
  readonly c64: 'complex64'
  readonly c128: 'complex128'
  readonly f4e2m1fn: 'float4_e2m1fn'
  readonly f8e3m4: 'float8_e3m4'
  readonly f8e4m3: 'float8_e4m3'
  readonly f8e4m3b11fnuz: 'float8_e4m3b11fnuz'
  readonly f8e4m3fn: 'float8_e4m3fn'
  readonly f8e4m3fnuz: 'float8_e4m3fnuz'
  readonly f8e5m2: 'float8_e5m2'
  readonly f8e5m2fnuz: 'float8_e5m2fnuz'
  readonly f8e8m0fnu: 'float8_e8m0fnu'
}

/** Names of element types that functions accept: canonical names and aliases. */
export type DTypeName = keyof ElementTypes | keyof Aliases

/**
 * The canonical name for a name of an element type. A string that is not a literal could be any of them, so it gives
 * the union of all names.
 */
export type Canonical<Name extends string> = Name extends keyof ElementTypes
  ? Name
  : Name extends keyof Aliases
    ? Aliases[Name]
    : keyof ElementTypes

/** A complex number: real part, imaginary part. */
export type Complex = readonly [real: number, imaginary: number]

/** An element as a JavaScript value; 64-bit integers are bigints. */
export type Element = number | bigint | boolean | Complex

/** An element of a type as a JavaScript value. */
export type ElementOf<D extends keyof ElementTypes> = ElementTypes[D]['element']

/** The TypedArray over the elements of a type, or over their raw bits if JavaScript lacks the type. */
export type ArrayOf<D extends keyof ElementTypes> = ElementTypes[D]['array']

/** A value from which an element of a type can be made: also numbers for wide integers and complex numbers, 0 and 1 for bools. */
export type InputOf<D extends keyof ElementTypes> = D extends 'bool'
  ? boolean | 0 | 1
  : ElementOf<D> extends bigint | Complex
    ? ElementOf<D> | number
    : ElementOf<D>

/** A value, or arrays of values nested to any depth. */
export type Nested<Value> = Value | readonly Nested<Value>[]

/** The elements of a tensor as nested arrays; a scalar is a single value. */
export type NestedArray<Value> = Value | NestedArray<Value>[]

import { wrongType } from '../errors/check-arguments.ts'
import { didYouMean } from '@tenon/binary/internal'
import type { ArrayOf, ElementTypes } from './element-types.ts'

/** The kinds of TypedArray that can view the elements of a tensor in place. */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array

/** The name of a kind of TypedArray. */
export type TypedArrayName = TypedArray[typeof Symbol.toStringTag]

/** Canonical names of element types. */
export type DType = keyof ElementTypes

/** The properties of one element type, and its codes in other formats. */
export interface DTypeInfo {
  readonly name: DType
  readonly kind: 'bool' | 'int' | 'uint' | 'float' | 'complex'
  readonly bits: number
  /** The other accepted names, such as short names and XLA's names. */
  readonly aliases: readonly string[]
  /** The TypedArray over the elements, or over their raw bits if JavaScript does not have the type. */
  readonly array: TypedArrayName
  /** NumPy's little-endian type string; undefined if NumPy has no such type. */
  readonly numpy?: string
  /** DLPack's type code. DLPack's bits are `bits`, and its lanes are 1. */
  readonly dlpack: number
  /** XLA's PrimitiveType, which the typed FFI uses too. */
  readonly xla: number
  /** NNAPI's OperandType for tensors with such elements; undefined if NNAPI has none. */
  readonly nnapi?: number
  /** The name in the Open Inference protocol; undefined if the protocol has none. */
  readonly openInference?: string
}

type Row<Name extends TypedArrayName> = Omit<DTypeInfo, 'name'> & { readonly array: Name }

const entry = <Name extends TypedArrayName>(
  kind: DTypeInfo['kind'],
  bits: number,
  array: Name,
  dlpack: number,
  xla: number,
  aliases: string,
  codes: Pick<DTypeInfo, 'numpy' | 'nnapi' | 'openInference'> = {},
): Row<Name> => ({ kind, bits, array, dlpack, xla, aliases: aliases.split(' '), ...codes })

/*
 * Sources: DLPack's DLDataTypeCode, XLA's PrimitiveType (xla_data.proto), NumPy's array interface type strings, the
 * tensor values of NNAPI's OperandType, and the tensor data types of the Open Inference (KServe v2) protocol.
 */
const rows: { readonly [D in DType]: Row<ArrayOf<D>[typeof Symbol.toStringTag]> } = {
  bool: entry('bool', 8, 'Uint8Array', 6, 1, 'pred b1', { numpy: '|b1', nnapi: 9, openInference: 'BOOL' }),
  int1: entry('int', 1, 'Int8Array', 0, 30, 's1 i1'),
  int2: entry('int', 2, 'Int8Array', 0, 26, 's2 i2'),
  int4: entry('int', 4, 'Int8Array', 0, 21, 's4 i4'),
  int8: entry('int', 8, 'Int8Array', 0, 2, 's8 i8', { numpy: '|i1', nnapi: 14, openInference: 'INT8' }),
  int16: entry('int', 16, 'Int16Array', 0, 3, 's16 i16', { numpy: '<i2', nnapi: 7, openInference: 'INT16' }),
  int32: entry('int', 32, 'Int32Array', 0, 4, 's32 i32', { numpy: '<i4', nnapi: 4, openInference: 'INT32' }),
  int64: entry('int', 64, 'BigInt64Array', 0, 5, 's64 i64', { numpy: '<i8', openInference: 'INT64' }),
  uint1: entry('uint', 1, 'Uint8Array', 1, 31, 'u1'),
  uint2: entry('uint', 2, 'Uint8Array', 1, 27, 'u2'),
  uint4: entry('uint', 4, 'Uint8Array', 1, 22, 'u4'),
  uint8: entry('uint', 8, 'Uint8Array', 1, 6, 'u8', { numpy: '|u1', nnapi: 5, openInference: 'UINT8' }),
  uint16: entry('uint', 16, 'Uint16Array', 1, 7, 'u16', { numpy: '<u2', nnapi: 12, openInference: 'UINT16' }),
  uint32: entry('uint', 32, 'Uint32Array', 1, 8, 'u32', { numpy: '<u4', openInference: 'UINT32' }),
  uint64: entry('uint', 64, 'BigUint64Array', 1, 9, 'u64', { numpy: '<u8', openInference: 'UINT64' }),
  float16: entry('float', 16, 'Uint16Array', 2, 10, 'f16', { numpy: '<f2', nnapi: 8, openInference: 'FP16' }),
  bfloat16: entry('float', 16, 'Uint16Array', 4, 16, 'bf16', { openInference: 'BF16' }),
  float32: entry('float', 32, 'Float32Array', 2, 11, 'f32', { numpy: '<f4', nnapi: 3, openInference: 'FP32' }),
  float64: entry('float', 64, 'Float64Array', 2, 12, 'f64', { numpy: '<f8', openInference: 'FP64' }),
  complex64: entry('complex', 64, 'Float32Array', 5, 15, 'c64', { numpy: '<c8' }),
  complex128: entry('complex', 128, 'Float64Array', 5, 18, 'c128', { numpy: '<c16' }),
  float4_e2m1fn: entry('float', 4, 'Uint8Array', 17, 32, 'f4e2m1fn'),
  float8_e3m4: entry('float', 8, 'Uint8Array', 7, 29, 'f8e3m4'),
  float8_e4m3: entry('float', 8, 'Uint8Array', 8, 28, 'f8e4m3'),
  float8_e4m3b11fnuz: entry('float', 8, 'Uint8Array', 9, 23, 'f8e4m3b11fnuz'),
  float8_e4m3fn: entry('float', 8, 'Uint8Array', 10, 20, 'f8e4m3fn'),
  float8_e4m3fnuz: entry('float', 8, 'Uint8Array', 11, 25, 'f8e4m3fnuz'),
  float8_e5m2: entry('float', 8, 'Uint8Array', 12, 19, 'f8e5m2'),
  float8_e5m2fnuz: entry('float', 8, 'Uint8Array', 13, 24, 'f8e5m2fnuz'),
  float8_e8m0fnu: entry('float', 8, 'Uint8Array', 14, 33, 'f8e8m0fnu'),
}

/** The one table of element types, in a stable order. */
export const dtypes: readonly DTypeInfo[] = Object.freeze(
  Object.entries(rows).map(([name, row]) => Object.freeze({ name, ...row }) as DTypeInfo),
)

const byName = new Map(dtypes.flatMap((info) => [info.name, ...info.aliases].map((name) => [name, info] as const)))

/**
 * Returns the properties of an element type, by its canonical name or an alias.
 *
 * @throws {ArgumentError} if there is no such type.
 * @example
 * dtypeInfo('f32').name // 'float32'
 * dtypeInfo('bfloat16').bits // 16
 */
export function dtypeInfo(name: string): DTypeInfo {
  const info = findDType(name)
  if (info !== undefined) return info
  throw wrongType(
    'dtype',
    'the name of an element type',
    name,
    (typeof name === 'string' ? didYouMean(name, byName.keys()) : undefined) ??
      `The types are ${dtypes.map((row) => row.name).join(', ')}, and short names such as f32, s32, u8, bf16, pred.`,
  )
}

/** Returns the properties of an element type like {@link dtypeInfo}, or undefined if there is no such type. */
export function findDType(name: string): DTypeInfo | undefined {
  return byName.get(name)
}

interface TypedArrayClass {
  readonly BYTES_PER_ELEMENT: number
  readonly name: string
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): TypedArray
}

const classes: Readonly<Record<TypedArrayName, TypedArrayClass>> = {
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
}

export function typedArrayClass(dtype: DType): TypedArrayClass {
  return classes[dtypeInfo(dtype).array]
}

import { wrongType } from '../errors/wrong-argument.ts'

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
export type TypedArrayName =
  | 'Int8Array'
  | 'Uint8Array'
  | 'Int16Array'
  | 'Uint16Array'
  | 'Int32Array'
  | 'Uint32Array'
  | 'Float32Array'
  | 'Float64Array'
  | 'BigInt64Array'
  | 'BigUint64Array'

/** The properties of one element type, and its codes in other formats. */
export interface DTypeInfo {
  readonly name: DType
  readonly kind: 'bool' | 'int' | 'uint' | 'float' | 'complex'
  readonly bits: number
  /** Other accepted spellings: short names, and XLA's names. */
  readonly aliases: readonly string[]
  /** The TypedArray over the element's bytes: the element itself where JavaScript has the type, else its raw bits. */
  readonly array: TypedArrayName
  /** NumPy's little-endian type string; undefined if NumPy has no such type. */
  readonly numpy?: string
  /** DLPack's type code; its bits are `bits`, its lanes 1. */
  readonly dlpack: number
  /** XLA's PrimitiveType, which the typed FFI uses too. */
  readonly xla: number
  /** NNAPI's OperandType of tensors with such elements; undefined if it has none. */
  readonly nnapi?: number
  /** The name in the Open Inference protocol; undefined if it has none. */
  readonly openInference?: string
}

/** Canonical names of element types. */
export type DType =
  | 'bool'
  | 'int1'
  | 'int2'
  | 'int4'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint1'
  | 'uint2'
  | 'uint4'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'float16'
  | 'bfloat16'
  | 'float32'
  | 'float64'
  | 'complex64'
  | 'complex128'
  | 'float4_e2m1fn'
  | 'float8_e3m4'
  | 'float8_e4m3'
  | 'float8_e4m3b11fnuz'
  | 'float8_e4m3fn'
  | 'float8_e4m3fnuz'
  | 'float8_e5m2'
  | 'float8_e5m2fnuz'
  | 'float8_e8m0fnu'

type Row = Omit<DTypeInfo, 'name'>
type Codes = Pick<DTypeInfo, 'numpy' | 'nnapi' | 'openInference'>

const int = (bits: number, xla: number, array: TypedArrayName, codes: Codes = {}): Row => ({
  kind: 'int',
  bits,
  array,
  dlpack: 0,
  xla,
  aliases: [`s${bits}`, `i${bits}`],
  ...codes,
})

const uint = (bits: number, xla: number, array: TypedArrayName, codes: Codes = {}): Row => ({
  kind: 'uint',
  bits,
  array,
  dlpack: 1,
  xla,
  aliases: [`u${bits}`],
  ...codes,
})

const float = (
  bits: number,
  dlpack: number,
  xla: number,
  array: TypedArrayName,
  alias: string,
  codes: Codes = {},
): Row => ({ kind: 'float', bits, array, dlpack, xla, aliases: [alias], ...codes })

/*
 * Sources: DLPack's DLDataTypeCode, XLA's PrimitiveType (xla_data.proto), NumPy's array interface type strings, the
 * tensor values of NNAPI's OperandType, and the tensor data types of the Open Inference (KServe v2) protocol.
 */
const rows: Record<DType, Row> = {
  bool: {
    kind: 'bool',
    bits: 8,
    array: 'Uint8Array',
    dlpack: 6,
    xla: 1,
    aliases: ['pred', 'b1'],
    numpy: '|b1',
    nnapi: 9,
    openInference: 'BOOL',
  },
  int1: int(1, 30, 'Int8Array'),
  int2: int(2, 26, 'Int8Array'),
  int4: int(4, 21, 'Int8Array'),
  int8: int(8, 2, 'Int8Array', { numpy: '|i1', nnapi: 14, openInference: 'INT8' }),
  int16: int(16, 3, 'Int16Array', { numpy: '<i2', nnapi: 7, openInference: 'INT16' }),
  int32: int(32, 4, 'Int32Array', { numpy: '<i4', nnapi: 4, openInference: 'INT32' }),
  int64: int(64, 5, 'BigInt64Array', { numpy: '<i8', openInference: 'INT64' }),
  uint1: uint(1, 31, 'Uint8Array'),
  uint2: uint(2, 27, 'Uint8Array'),
  uint4: uint(4, 22, 'Uint8Array'),
  uint8: uint(8, 6, 'Uint8Array', { numpy: '|u1', nnapi: 5, openInference: 'UINT8' }),
  uint16: uint(16, 7, 'Uint16Array', { numpy: '<u2', nnapi: 12, openInference: 'UINT16' }),
  uint32: uint(32, 8, 'Uint32Array', { numpy: '<u4', openInference: 'UINT32' }),
  uint64: uint(64, 9, 'BigUint64Array', { numpy: '<u8', openInference: 'UINT64' }),
  float16: float(16, 2, 10, 'Uint16Array', 'f16', { numpy: '<f2', nnapi: 8, openInference: 'FP16' }),
  bfloat16: float(16, 4, 16, 'Uint16Array', 'bf16', { openInference: 'BF16' }),
  float32: float(32, 2, 11, 'Float32Array', 'f32', { numpy: '<f4', nnapi: 3, openInference: 'FP32' }),
  float64: float(64, 2, 12, 'Float64Array', 'f64', { numpy: '<f8', openInference: 'FP64' }),
  complex64: { kind: 'complex', bits: 64, array: 'Float32Array', dlpack: 5, xla: 15, aliases: ['c64'], numpy: '<c8' },
  complex128: {
    kind: 'complex',
    bits: 128,
    array: 'Float64Array',
    dlpack: 5,
    xla: 18,
    aliases: ['c128'],
    numpy: '<c16',
  },
  float4_e2m1fn: float(4, 17, 32, 'Uint8Array', 'f4e2m1fn'),
  float8_e3m4: float(8, 7, 29, 'Uint8Array', 'f8e3m4'),
  float8_e4m3: float(8, 8, 28, 'Uint8Array', 'f8e4m3'),
  float8_e4m3b11fnuz: float(8, 9, 23, 'Uint8Array', 'f8e4m3b11fnuz'),
  float8_e4m3fn: float(8, 10, 20, 'Uint8Array', 'f8e4m3fn'),
  float8_e4m3fnuz: float(8, 11, 25, 'Uint8Array', 'f8e4m3fnuz'),
  float8_e5m2: float(8, 12, 19, 'Uint8Array', 'f8e5m2'),
  float8_e5m2fnuz: float(8, 13, 24, 'Uint8Array', 'f8e5m2fnuz'),
  float8_e8m0fnu: float(8, 14, 33, 'Uint8Array', 'f8e8m0fnu'),
}

/** The one table of element types, in a stable order. */
export const dtypes: readonly DTypeInfo[] = Object.freeze(
  Object.entries(rows).map(([name, row]) => Object.freeze({ name, ...row }) as DTypeInfo),
)

const byName = new Map(dtypes.flatMap((info) => [info.name, ...info.aliases].map((name) => [name, info] as const)))

/**
 * The row of an element type, by its canonical name or an alias.
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
    `The types are ${dtypes.map((row) => row.name).join(', ')}, and short names such as f32, s32, u8, bf16, pred.`,
  )
}

/** The row of an element type, as {@link dtypeInfo}; undefined if there is no such type. */
export function findDType(name: string): DTypeInfo | undefined {
  return byName.get(name)
}

import type { DType, TypedArray } from '@tenon/core'
import type { JsonElementType } from '../protocol/json-elements.ts'

type ArrayClass = new (buffer: ArrayBufferLike | number, byteOffset?: number, length?: number) => TypedArray

/** An element type of the protocol, as JavaScript sees it. */
export interface Datatype extends JsonElementType {
  readonly dtype: DType
  readonly kind: 'bool' | 'int' | 'uint' | 'float'
  readonly openInference: string
  /** The TypedArray over the elements, or over their raw bits. */
  readonly array: ArrayClass
}

const row = (
  openInference: string,
  dtype: DType,
  kind: Datatype['kind'],
  bits: number,
  array: unknown,
): [string, Datatype] => [openInference, { openInference, dtype, kind, bits, array: array as ArrayClass }]

/** The element types of the protocol by their names there. Strings are not among them. */
export const datatypes: ReadonlyMap<string, Datatype> = new Map([
  row('BOOL', 'bool', 'bool', 8, Uint8Array),
  row('INT8', 'int8', 'int', 8, Int8Array),
  row('INT16', 'int16', 'int', 16, Int16Array),
  row('INT32', 'int32', 'int', 32, Int32Array),
  row('INT64', 'int64', 'int', 64, BigInt64Array),
  row('UINT8', 'uint8', 'uint', 8, Uint8Array),
  row('UINT16', 'uint16', 'uint', 16, Uint16Array),
  row('UINT32', 'uint32', 'uint', 32, Uint32Array),
  row('UINT64', 'uint64', 'uint', 64, BigUint64Array),
  row('FP16', 'float16', 'float', 16, Uint16Array),
  row('BF16', 'bfloat16', 'float', 16, Uint16Array),
  row('FP32', 'float32', 'float', 32, Float32Array),
  row('FP64', 'float64', 'float', 64, Float64Array),
])

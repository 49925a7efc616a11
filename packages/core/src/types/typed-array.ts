import { dtypeInfo, type DType, type TypedArray, type TypedArrayName } from './dtype.ts'

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

/** The TypedArray class whose elements view those of a type. */
export function typedArrayClass(dtype: DType): TypedArrayClass {
  return classes[dtypeInfo(dtype).array]
}

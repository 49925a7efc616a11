/** The kind of value in a tagged value of tvm-ffi. Values from 64 on are objects. */
export const TypeIndex = {
  None: 0,
  Int: 1,
  Bool: 2,
  Float: 3,
  OpaquePtr: 4,
  DataType: 5,
  Device: 6,
  DLTensorPtr: 7,
  RawStr: 8,
  ByteArrayPtr: 9,
  ObjectRValueRef: 10,
  SmallStr: 11,
  SmallBytes: 12,
  Object: 64,
  Str: 65,
  Bytes: 66,
  Error: 67,
  Function: 68,
  Shape: 69,
  Tensor: 70,
  Array: 71,
  Map: 72,
  Module: 73,
  Opaque: 74,
  List: 75,
  Dict: 76,
} as const

/** The first eight bytes of a slot, a type index and zeros, as a float64 with the same bits: one store writes them. */
export const tagOf = (typeIndex: number): number => typeIndex * Number.MIN_VALUE

export const INT_TAG: number = tagOf(TypeIndex.Int)
export const FLOAT_TAG: number = tagOf(TypeIndex.Float)
export const TENSOR_TAG: number = tagOf(TypeIndex.Tensor)

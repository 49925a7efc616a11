import { CONSTANTS } from '@tenon/core/internal'

/** The kind of value in a tagged value of tvm-ffi. Values from 64 on are objects. */
export const TypeIndex = {
  None: CONSTANTS.kTVMFFINone as number,
  Int: CONSTANTS.kTVMFFIInt as number,
  Bool: CONSTANTS.kTVMFFIBool as number,
  Float: CONSTANTS.kTVMFFIFloat as number,
  OpaquePtr: CONSTANTS.kTVMFFIOpaquePtr as number,
  DataType: CONSTANTS.kTVMFFIDataType as number,
  Device: CONSTANTS.kTVMFFIDevice as number,
  DLTensorPtr: CONSTANTS.kTVMFFIDLTensorPtr as number,
  RawStr: CONSTANTS.kTVMFFIRawStr as number,
  ByteArrayPtr: CONSTANTS.kTVMFFIByteArrayPtr as number,
  ObjectRValueRef: CONSTANTS.kTVMFFIObjectRValueRef as number,
  SmallStr: CONSTANTS.kTVMFFISmallStr as number,
  SmallBytes: CONSTANTS.kTVMFFISmallBytes as number,
  Object: CONSTANTS.kTVMFFIObject as number,
  Str: CONSTANTS.kTVMFFIStr as number,
  Bytes: CONSTANTS.kTVMFFIBytes as number,
  Error: CONSTANTS.kTVMFFIError as number,
  Function: CONSTANTS.kTVMFFIFunction as number,
  Shape: CONSTANTS.kTVMFFIShape as number,
  Tensor: CONSTANTS.kTVMFFITensor as number,
  Array: CONSTANTS.kTVMFFIArray as number,
  Map: CONSTANTS.kTVMFFIMap as number,
  Module: CONSTANTS.kTVMFFIModule as number,
  Opaque: CONSTANTS.kTVMFFIOpaquePyObject as number,
  List: CONSTANTS.kTVMFFIList as number,
  Dict: CONSTANTS.kTVMFFIDict as number,
} as const

/** The first eight bytes of a slot, a type index and zeros, as a float64 with the same bits: one store writes them. */
export const tagOf = (typeIndex: number): number => typeIndex * Number.MIN_VALUE

export const INT_TAG: number = tagOf(TypeIndex.Int)
export const FLOAT_TAG: number = tagOf(TypeIndex.Float)
export const TENSOR_TAG: number = tagOf(TypeIndex.Tensor)

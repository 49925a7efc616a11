import { CONSTANTS } from '@tenon/core/internal'

/** The kind of value in a tagged value of tvm-ffi. Values from 64 on are objects. */
export const TypeIndex = {
  None: CONSTANTS.kTVMFFINone,
  Int: CONSTANTS.kTVMFFIInt,
  Bool: CONSTANTS.kTVMFFIBool,
  Float: CONSTANTS.kTVMFFIFloat,
  OpaquePtr: CONSTANTS.kTVMFFIOpaquePtr,
  DataType: CONSTANTS.kTVMFFIDataType,
  Device: CONSTANTS.kTVMFFIDevice,
  DLTensorPtr: CONSTANTS.kTVMFFIDLTensorPtr,
  RawStr: CONSTANTS.kTVMFFIRawStr,
  ByteArrayPtr: CONSTANTS.kTVMFFIByteArrayPtr,
  ObjectRValueRef: CONSTANTS.kTVMFFIObjectRValueRef,
  SmallStr: CONSTANTS.kTVMFFISmallStr,
  SmallBytes: CONSTANTS.kTVMFFISmallBytes,
  Object: CONSTANTS.kTVMFFIObject,
  Str: CONSTANTS.kTVMFFIStr,
  Bytes: CONSTANTS.kTVMFFIBytes,
  Error: CONSTANTS.kTVMFFIError,
  Function: CONSTANTS.kTVMFFIFunction,
  Shape: CONSTANTS.kTVMFFIShape,
  Tensor: CONSTANTS.kTVMFFITensor,
  Array: CONSTANTS.kTVMFFIArray,
  Map: CONSTANTS.kTVMFFIMap,
  Module: CONSTANTS.kTVMFFIModule,
  Opaque: CONSTANTS.kTVMFFIOpaquePyObject,
  List: CONSTANTS.kTVMFFIList,
  Dict: CONSTANTS.kTVMFFIDict,
} as const

/** The first eight bytes of a slot, a type index and zeros, as a float64 with the same bits: one store writes them. */
export const tagOf = (typeIndex: number): number => typeIndex * Number.MIN_VALUE

export const INT_TAG: number = tagOf(TypeIndex.Int)
export const FLOAT_TAG: number = tagOf(TypeIndex.Float)
export const TENSOR_TAG: number = tagOf(TypeIndex.Tensor)

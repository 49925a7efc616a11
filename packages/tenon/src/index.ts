export {
  ArgumentError,
  BinaryFormatError,
  LoadError,
  NativeError,
  readBinary,
  ScopeClosedError,
  TenonError,
  Tensor,
  tensor,
  TensorType,
  tensorType,
  type BinaryInfo,
  type Complex,
  type DType,
  type Element,
  type NativeAllocator,
  type TensorOptions,
} from '@tenon/core'
export {
  array,
  Attribute,
  f32,
  f64,
  pred,
  s16,
  s32,
  s64,
  s8,
  str,
  u16,
  u32,
  u64,
  u8,
  VersionSkewError,
  XlaError,
  type AttributeDictionary,
  type AttributeValue,
  type BoundCall,
  type CallOptions,
  type CustomCall,
  type HandlerMetadata,
  type HostCall,
  type PreparedCall,
} from '@tenon/custom-call'
export { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
export { Library } from './library.ts'
export { type CallConvention, type MarkedCall } from './marked-calls.ts'
export { decodeNpy, encodeNpy } from './npy/npy-array.ts'
export { readNpy, writeNpy } from './npy/npy-file.ts'
export { NpyFormatError } from './npy/npy-format-error.ts'
export { decodeNpyHeader, encodeNpyHeader, type NpyHeader } from './npy/npy-header.ts'

export { BinaryFormatError } from '@tenon/binary'
export {
  AlignmentError,
  AllocationError,
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  from,
  GuardError,
  IsolationError,
  KernelDeadlineError,
  LoadError,
  NativeError,
  QueueFullError,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  SignatureError,
  TenonError,
  Tensor,
  tensor,
  TensorType,
  tensorType,
  UnsupportedError,
  WrongThreadError,
  type DType,
  type NativeAllocator,
  type TensorOptions,
} from '@tenon/core'
export {
  ApiVersion,
  array,
  batch,
  c128,
  c64,
  CudaError,
  CudaUnavailableError,
  f32,
  f64,
  pred,
  ptr,
  s16,
  s32,
  s64,
  s8,
  str,
  targetCall,
  u16,
  u32,
  u64,
  u8,
  VersionSkewError,
  XlaError,
  type AttributeDictionary,
  type BoundCall,
  type CustomCall,
  type HostCall,
  type IsolatedArgument,
  type IsolatedKernel,
  type Kernel,
  type KernelAsyncOptions,
  type KernelCallOptions,
  type PreparedCall,
  type TargetCall,
} from '@tenon/custom-call'
export { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
export { installCrashReporter } from '@tenon/core/internal'
export { type IsolateOptions } from '@tenon/isolate'
export { type IsolatedLibrary } from './isolated/isolated-library.ts'
export { type IsolatedPackedFunc } from '@tenon/packed-func'
export { type KernelOptions } from './kernels/kernel-options.ts'
export { Library } from './library.ts'
export { decodeNpy, encodeNpy } from './npy/npy-array.ts'
export { readNpy, writeNpy } from './npy/npy-file.ts'
export { NpyFormatError } from './npy/npy-format-error.ts'
export { decodeNpyHeader, encodeNpyHeader, type NpyHeader } from './npy/npy-header.ts'
export { SidecarError } from './signatures/sidecar-error.ts'

export {
  AlignmentError,
  AllocationError,
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  GuardError,
  IsolationError,
  KernelDeadlineError,
  UnsupportedError,
  LoadError,
  NativeError,
  QueueFullError,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  WrongThreadError,
} from './errors/kinds.ts'
export { TenonError } from '@tenon/binary'
export { gcAllocator, processAllocator } from './memory/allocators.ts'
export { type NativeAllocator } from './memory/native-allocator.ts'
export { Hold, type Lifetime } from './memory/lifetime.ts'
export { Segment } from './memory/segment.ts'
export type { ArgumentOf, ArgumentsOf, FunctionSignature, NativeFunction, ResultOf } from './native/function-types.ts'
export { driverInfo, type DriverInfo } from './native/call/driver-info.ts'
export { type RuntimeInfo } from './native/runtime.ts'
export { NativeLibrary } from './native/native-library.ts'
export { platformLibrary } from './native/platform-library.ts'
export { type ValueType } from './native/value-type.ts'
export { formatSignature } from './signatures/format-signature.ts'
export {
  type AttributeParameter,
  type AttributeType,
  type Condition,
  type Dimension,
  type KernelConvention,
  type KernelSignature,
  type Parameter,
  type SizeExpression,
} from './signatures/kernel-signature.ts'
export { parseSignature } from './signatures/parse-signature.ts'
export { SignatureError } from './signatures/signature-error.ts'
export type { StringLayout } from './strings/string-layout.ts'
export type { StringTensorLike } from './strings/string-tensor-like.ts'
export { type CallTrace } from './tracing/call-trace.ts'
export { cpu, type Device } from './types/device.ts'
export { dtypeInfo, dtypes, type DType, type DTypeInfo, type TypedArray } from './types/dtype.ts'
export {
  type ArrayOf,
  type Canonical,
  type Complex,
  type DTypeName,
  type Element,
  type InputOf,
  type Nested,
  type NestedArray,
} from './types/element-types.ts'
export { tensor, type TensorOptions } from './types/make-tensor.ts'
export { from, type FromOptions } from './types/tensor-from.ts'
export type { ForeignTensor, TensorLike } from './interchange/find.ts'
export {
  tensorSymbol,
  type OfferedStrings,
  type OfferedTensor,
  type StringDescription,
  type TensorDescription,
} from './interchange/protocol.ts'
export type { JsonElement } from './types/tensor-json.ts'
export { Tensor } from './types/tensor.ts'
export { tensorType, TensorType } from './types/tensor-type.ts'

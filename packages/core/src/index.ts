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
export {
  BinaryFormatError,
  missingDependencies,
  readBinary,
  readHiddenFunctions,
  readTextConstants,
  TenonError,
  type BinaryFormat,
  type BinaryInfo,
  type ExportedSymbol,
  type ImportedSymbol,
  type MissingLibrary,
  type SymbolKind,
  type TenonErrorOptions,
} from '@tenon/binary'
export { gcAllocator, processAllocator, type NativeAllocator } from './memory/allocators.ts'
export { globalLifetime } from './memory/global-lifetime.ts'
export { Hold, type Lifetime } from './memory/lifetime.ts'
export { Segment } from './memory/segment.ts'
export { type Value } from './native/argument-conversion.ts'
export { type NativeFunction, type Signature } from './native/native-function.ts'
export { driverInfo, type DriverInfo } from './native/call/driver-info.ts'
export { type ForeignThread, type StubOptions } from './native/call/stubs.ts'
export { NativeLibrary } from './native/native-library.ts'
export { platformLibrary, type PlatformLibraryOptions } from './native/platform-library.ts'
export { type ValueType } from './native/value-type.ts'
export { formatSignature } from './signatures/format-signature.ts'
export {
  type ArrayAttributeElement,
  type AttributeLiteral,
  type AttributeParameter,
  type AttributeType,
  type AxisGroup,
  type Comparison,
  type Condition,
  type Dimension,
  type KernelConvention,
  type KernelSignature,
  type Parameter,
  type ParameterKind,
  type ParameterLayout,
  type ScalarAttributeType,
  type SignatureSource,
  type SignatureStage,
  type SizeExpression,
  type SizeOperator,
} from './signatures/kernel-signature.ts'
export { parseSignature, type ParseSignatureOptions } from './signatures/parse-signature.ts'
export { SignatureError } from './signatures/signature-error.ts'
export { cpu, type Device } from './types/device.ts'
export {
  dtypeInfo,
  dtypes,
  findDType,
  type DType,
  type DTypeInfo,
  type TypedArray,
  type TypedArrayName,
} from './types/dtype.ts'
export {
  type Aliases,
  type ArrayOf,
  type Canonical,
  type Complex,
  type DTypeName,
  type Element,
  type ElementOf,
  type ElementTypes,
  type InputOf,
  type Nested,
  type NestedArray,
} from './types/element-types.ts'
export { tensor, type TensorOptions, type TensorSource } from './types/make-tensor.ts'
export { type Float16Values, type ValuesOf } from './types/tensor-arrays.ts'
export { from, type ArrayDTypes } from './types/tensor-from.ts'
export { type SliceSpec } from './types/tensor-views.ts'
export { Tensor } from './types/tensor.ts'
export { tensorType, TensorType, type Packing, type TensorTypeOptions } from './types/tensor-type.ts'

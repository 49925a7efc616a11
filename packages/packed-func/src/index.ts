export { traceErrors } from './errors/crossing.ts'
export {
  AssertionError,
  AttributeError,
  InternalError,
  KeyError,
  MemoryError,
  PackedFuncError,
  PackedFuncRangeError,
  PackedFuncTypeError,
  RecursionError,
  registerErrorKind,
  RuntimeError,
  ThreadError,
  ValueError,
  type ErrorFactory,
  type PackedFuncErrorOptions,
} from './errors/error-kinds.ts'
export { type AsyncForm, type AsyncOptions } from './functions/async-form.ts'
export { packedFunc, type PackedFuncOptions } from './functions/closure.ts'
export { Module, type LookUpOptions } from './functions/module.ts'
export { PackedFunc } from './functions/packed-func.ts'
export {
  getGlobal,
  initApi,
  listGlobalNames,
  registerGlobal,
  removeGlobal,
  tryGetGlobal,
  type Api,
  type ApiSchema,
  type TypedApi,
} from './functions/registry.ts'
export { type ConversionTarget, type ConversionTargets } from './legacy/conversions.ts'
export {
  callLegacy,
  callPacked,
  legacyFunc,
  TVMArgs,
  TVMArgValue,
  TVMRetValue,
  typedLegacyFunc,
  type TVMValue,
} from './legacy/legacy-func.ts'
export { TypeCode } from './legacy/type-code.ts'
export { type CallResult } from './functions/try-call.ts'
export { currentStream, withStream } from './native/streams.ts'
export { NativeArray, NativeMap, NativeShape, shape } from './objects/containers.ts'
export { NativeObject } from './objects/native-object.ts'
export { NativeTensor } from './objects/native-tensor.ts'
export { fromDLPack, toDLPack, type DLPackOptions, type ToDLPackOptions } from './tensors/dlpack.ts'
export { accept, typedFunc, type Accepted, type Acceptor, type Acceptors } from './typed/accept.ts'
export { type InputOf, type OutputOf, type TypeDescriptor } from './typed/descriptor.ts'
export { declarationOf, isDeclarable, typedBy } from './typed/schema.ts'
export { declarationTypes } from './typed/schema-text.ts'
export { type TypedFunction } from './typed/typed-function.ts'
export { t, type Types } from './typed/types.ts'
export { type ObjectClass } from './types/class-types.ts'
export {
  describeType,
  type FieldDescription,
  type MethodDescription,
  type TypeDescription,
} from './types/describe-type.ts'
export { functionDoc, functionMetadata } from './types/function-metadata.ts'
export { kwargs, type Kwargs } from './types/kwargs.ts'
export { methodOf, objectClass, registerClass, types } from './types/object-class.ts'
export { deepCopy, fromJSONGraph, structuralEqual, structuralHash, toJSONGraph } from './types/structural.ts'
export { listTypes } from './types/type-table.ts'
export { type Argument, type PackedCallback, type Value } from './values/argument.ts'
export {
  DataType,
  dataType,
  device,
  DeviceValue,
  float,
  FloatValue,
  int,
  IntValue,
  OpaquePointer,
  u64,
} from './values/scalars.ts'
export { readOnly, ReadOnlyTensor, RValue, rvalue, tensorView, TensorView } from './values/wrappers.ts'
export { type IsolatedPackedFunc } from './remote/isolated-packed-func.ts'

export { registerErrorKind, type ErrorFactory } from './errors/error-kinds.ts'
export {
  PackedFuncError,
  PackedFuncRangeError,
  PackedFuncTypeError,
  type PackedFuncErrorOptions,
} from './errors/packed-func-error.ts'
export { packedFunc } from './functions/closure.ts'
export { Module } from './functions/module.ts'
export { PackedFunc, type CallResult } from './functions/packed-func.ts'
export {
  getGlobal,
  initApi,
  listGlobalNames,
  registerGlobal,
  removeGlobal,
  tryGetGlobal,
  type Api,
} from './functions/registry.ts'
export { NativeArray } from './objects/native-array.ts'
export { NativeMap } from './objects/native-map.ts'
export { NativeObject } from './objects/native-object.ts'
export { NativeShape, shape } from './objects/native-shape.ts'
export { t, type InputOf, type OutputOf, type TypeDescriptor } from './typed/descriptor.ts'
export { declarationOf, declarationTypes, typedBy } from './typed/schema.ts'
export { typed, type TypedFunction } from './typed/typed-function.ts'
export { type Argument, type PackedCallback, type Value } from './values/argument.ts'
export { dataType } from './values/data-type.ts'
export { DataType, device, DeviceValue, float, FloatValue, int, IntValue, OpaquePointer } from './values/scalars.ts'
export { RValue, rvalue, tensorView, TensorView } from './values/wrappers.ts'

import { CONSTANTS } from '@tenon/core/internal'
import { TypeIndex } from '../native/type-index.ts'

/**
 * The types of values of TVM to 0.20: the codes of version 0.18.
 *
 * @example
 * TypeCode.Str // 11
 */
export const TypeCode = {
  Int: CONSTANTS.kTVMArgInt,
  Float: CONSTANTS.kTVMArgFloat,
  OpaqueHandle: CONSTANTS.kTVMOpaqueHandle,
  Null: CONSTANTS.kTVMNullptr,
  DataType: CONSTANTS.kTVMDataType,
  Device: CONSTANTS.kDLDevice,
  DLTensor: CONSTANTS.kTVMDLTensorHandle,
  Object: CONSTANTS.kTVMObjectHandle,
  Module: CONSTANTS.kTVMModuleHandle,
  PackedFunc: CONSTANTS.kTVMPackedFuncHandle,
  Str: CONSTANTS.kTVMStr,
  Bytes: CONSTANTS.kTVMBytes,
  NDArray: CONSTANTS.kTVMNDArrayHandle,
  ObjectRValueRef: CONSTANTS.kTVMObjectRValueRefArg,
  Bool: CONSTANTS.kTVMArgBool,
} as const

/** One of the codes of {@link TypeCode}. */
export type TypeCode = (typeof TypeCode)[keyof typeof TypeCode]

/** The names of the codes in C and in messages. */
const names: Readonly<Record<TypeCode, readonly [inC: string, inMessages: string]>> = {
  [TypeCode.Int]: ['kTVMArgInt', 'int'],
  [TypeCode.Float]: ['kTVMArgFloat', 'float'],
  [TypeCode.OpaqueHandle]: ['kTVMOpaqueHandle', 'handle'],
  [TypeCode.Null]: ['kTVMNullptr', 'NULL'],
  [TypeCode.DataType]: ['kTVMDataType', 'DLDataType'],
  [TypeCode.Device]: ['kDLDevice', 'DLDevice'],
  [TypeCode.DLTensor]: ['kTVMDLTensorHandle', 'ArrayHandle'],
  [TypeCode.Object]: ['kTVMObjectHandle', 'Object'],
  [TypeCode.Module]: ['kTVMModuleHandle', 'ModuleHandle'],
  [TypeCode.PackedFunc]: ['kTVMPackedFuncHandle', 'FunctionHandle'],
  [TypeCode.Str]: ['kTVMStr', 'str'],
  [TypeCode.Bytes]: ['kTVMBytes', 'bytes'],
  [TypeCode.NDArray]: ['kTVMNDArrayHandle', 'NDArrayContainer'],
  [TypeCode.ObjectRValueRef]: ['kTVMObjectRValueRefArg', 'ObjectRValueRef'],
  [TypeCode.Bool]: ['kTVMArgBool', 'bool'],
}

/** The name of a code in messages: `int`, `handle`, `NDArrayContainer`. */
export const nameOfCode = (code: TypeCode): string => names[code][1]

/** The name of a code in C: `kTVMOpaqueHandle`. */
export const constantOfCode = (code: TypeCode): string => names[code][0]

const byTypeIndex: ReadonlyMap<number, TypeCode> = new Map([
  [TypeIndex.None, TypeCode.Null],
  [TypeIndex.Int, TypeCode.Int],
  [TypeIndex.Bool, TypeCode.Bool],
  [TypeIndex.Float, TypeCode.Float],
  [TypeIndex.OpaquePtr, TypeCode.OpaqueHandle],
  [TypeIndex.DataType, TypeCode.DataType],
  [TypeIndex.Device, TypeCode.Device],
  [TypeIndex.DLTensorPtr, TypeCode.DLTensor],
  [TypeIndex.RawStr, TypeCode.Str],
  [TypeIndex.SmallStr, TypeCode.Str],
  [TypeIndex.ByteArrayPtr, TypeCode.Bytes],
  [TypeIndex.SmallBytes, TypeCode.Bytes],
  [TypeIndex.Bytes, TypeCode.Bytes],
  [TypeIndex.ObjectRValueRef, TypeCode.ObjectRValueRef],
  [TypeIndex.Function, TypeCode.PackedFunc],
  [TypeIndex.Module, TypeCode.Module],
  [TypeIndex.Tensor, TypeCode.NDArray],
])

/** The type code of values that have a type index in tvm-ffi. */
export const codeOfTypeIndex = (typeIndex: number): TypeCode => byTypeIndex.get(typeIndex) ?? TypeCode.Object

import { CONSTANTS } from '@tenon/core/internal'
import { TypeIndex } from '../native/type-index.ts'

/**
 * The types of values of TVM to 0.20: the codes of version 0.18.
 *
 * @example
 * TypeCode.Str // 11
 */
export const TypeCode = {
  Int: CONSTANTS.kTVMArgInt as 0,
  Float: CONSTANTS.kTVMArgFloat as 2,
  OpaqueHandle: CONSTANTS.kTVMOpaqueHandle as 3,
  Null: CONSTANTS.kTVMNullptr as 4,
  DataType: CONSTANTS.kTVMDataType as 5,
  Device: CONSTANTS.kDLDevice as 6,
  DLTensor: CONSTANTS.kTVMDLTensorHandle as 7,
  Object: CONSTANTS.kTVMObjectHandle as 8,
  Module: CONSTANTS.kTVMModuleHandle as 9,
  PackedFunc: CONSTANTS.kTVMPackedFuncHandle as 10,
  Str: CONSTANTS.kTVMStr as 11,
  Bytes: CONSTANTS.kTVMBytes as 12,
  NDArray: CONSTANTS.kTVMNDArrayHandle as 13,
  ObjectRValueRef: CONSTANTS.kTVMObjectRValueRefArg as 14,
  Bool: CONSTANTS.kTVMArgBool as 15,
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

const byTypeIndex: ReadonlyMap<number | undefined, TypeCode> = new Map([
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
export const codeOfTypeIndex = (typeIndex: number | undefined): TypeCode =>
  byTypeIndex.get(typeIndex) ?? TypeCode.Object

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

/** For each code its name in C, its name in messages, and the types of tvm-ffi that it stands for. */
const codes: Readonly<Record<TypeCode, readonly [inC: string, inMessages: string, ...typeIndices: number[]]>> = {
  [TypeCode.Int]: ['kTVMArgInt', 'int', TypeIndex.Int],
  [TypeCode.Float]: ['kTVMArgFloat', 'float', TypeIndex.Float],
  [TypeCode.OpaqueHandle]: ['kTVMOpaqueHandle', 'handle', TypeIndex.OpaquePtr],
  [TypeCode.Null]: ['kTVMNullptr', 'NULL', TypeIndex.None],
  [TypeCode.DataType]: ['kTVMDataType', 'DLDataType', TypeIndex.DataType],
  [TypeCode.Device]: ['kDLDevice', 'DLDevice', TypeIndex.Device],
  [TypeCode.DLTensor]: ['kTVMDLTensorHandle', 'ArrayHandle', TypeIndex.DLTensorPtr],
  [TypeCode.Object]: ['kTVMObjectHandle', 'Object'],
  [TypeCode.Module]: ['kTVMModuleHandle', 'ModuleHandle', TypeIndex.Module],
  [TypeCode.PackedFunc]: ['kTVMPackedFuncHandle', 'FunctionHandle', TypeIndex.Function],
  [TypeCode.Str]: ['kTVMStr', 'str', TypeIndex.RawStr, TypeIndex.SmallStr],
  [TypeCode.Bytes]: ['kTVMBytes', 'bytes', TypeIndex.ByteArrayPtr, TypeIndex.SmallBytes, TypeIndex.Bytes],
  [TypeCode.NDArray]: ['kTVMNDArrayHandle', 'NDArrayContainer', TypeIndex.Tensor],
  [TypeCode.ObjectRValueRef]: ['kTVMObjectRValueRefArg', 'ObjectRValueRef', TypeIndex.ObjectRValueRef],
  [TypeCode.Bool]: ['kTVMArgBool', 'bool', TypeIndex.Bool],
}

export const nameOfCode = (code: TypeCode): string => codes[code][1]

export const constantOfCode = (code: TypeCode): string => codes[code][0]

const byTypeIndex = new Map<number | undefined, TypeCode>()
for (const code of Object.values(TypeCode)) {
  const [, , ...typeIndices] = codes[code]
  for (const typeIndex of typeIndices) byTypeIndex.set(typeIndex, code)
}

export const codeOfTypeIndex = (typeIndex: number | undefined): TypeCode =>
  byTypeIndex.get(typeIndex) ?? TypeCode.Object

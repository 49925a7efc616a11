import { Tensor, type Device } from '@tenon/core'
import { InternalError } from '../errors/error-kinds.ts'
import type { Module } from '../functions/module.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { NativeObject } from '../objects/native-object.ts'
import type { Value } from '../values/argument.ts'
import { dataType, DataType, OpaquePointer } from '../values/scalars.ts'
import { constantOfCode, nameOfCode, TypeCode } from './type-code.ts'

/** The types that a value can be converted to, and what each is in JavaScript. */
export interface ConversionTargets {
  readonly int64: number | bigint
  readonly int32: number
  readonly uint64: number | bigint
  readonly double: number
  readonly bool: boolean
  readonly 'void*': OpaquePointer | null
  readonly 'DLTensor*': Tensor | null
  readonly NDArray: Tensor | null
  readonly PackedFunc: PackedFunc | null
  readonly Module: Module | null
  readonly Object: NativeObject | Tensor | null
  readonly string: string
  readonly DLDataType: DataType
  readonly DLDevice: Device
}

/** The name of a type that a `TVMArgValue` can be converted to: see {@link ConversionTargets}. */
export type ConversionTarget = keyof ConversionTargets

type Convert<Out> = (value: Value, code: TypeCode) => Out

const INT32_MAX = 2 ** 31 - 1

const wrongCode = (expected: TypeCode, code: TypeCode): InternalError =>
  new InternalError(
    `Check failed: type_code_ == ${constantOfCode(expected)} (${code} vs. ${expected}) : ` +
      `expected ${nameOfCode(expected)} but got ${nameOfCode(code)}`,
  )

function integer(value: Value, code: TypeCode): number | bigint {
  if (code === TypeCode.Int) return value as number | bigint
  if (code === TypeCode.Bool) return value === true ? 1 : 0
  throw new InternalError(`expected int but got ${nameOfCode(code)}`)
}

function int32(value: Value, code: TypeCode): number {
  const whole = integer(value, code)
  const [compared, limit, bound] = whole > 0 ? ['<=', 'max', INT32_MAX] : ['>=', 'min', -INT32_MAX - 1]
  if (whole > INT32_MAX || whole < -INT32_MAX - 1)
    throw new InternalError(
      `Check failed: value_.v_int64 ${compared} std::numeric_limits<int>::${limit}() (${whole} vs. ${bound}) : `,
    )
  return Number(whole)
}

function uint64(value: Value, code: TypeCode): number | bigint {
  const whole = integer(value, code)
  return whole < 0 ? BigInt.asUintN(64, BigInt(whole)) : whole
}

function double(value: Value, code: TypeCode): number {
  if (code === TypeCode.Float) return value as number
  if (code === TypeCode.Int || code === TypeCode.Bool) return Number(value)
  throw wrongCode(TypeCode.Float, code)
}

const only =
  <Out>(expected: TypeCode): Convert<Out> =>
  (value, code) => {
    if (code !== expected) throw wrongCode(expected, code)
    return value as Out
  }

/** Converts handles by a rule, and the null handle to null. */
const orNull =
  <Out>(rule: Convert<Out>): Convert<Out | null> =>
  (value, code) =>
    code === TypeCode.Null ? null : rule(value, code)

function pointer(value: Value, code: TypeCode): OpaquePointer {
  if (code === TypeCode.DLTensor) return new OpaquePointer((value as Tensor).segment.address)
  return only<OpaquePointer>(TypeCode.OpaqueHandle)(value, code)
}

function dlTensor(value: Value, code: TypeCode): Tensor {
  if (code === TypeCode.DLTensor || code === TypeCode.NDArray) return value as Tensor
  throw new InternalError(`Expected DLTensor* or NDArray but got ${nameOfCode(code)}`)
}

function object(value: Value, code: TypeCode): NativeObject | Tensor {
  if (value instanceof NativeObject || (code === TypeCode.NDArray && value instanceof Tensor)) return value
  throw new InternalError(`Expected runtime.Object but got ${nameOfCode(code)}`)
}

function text(value: Value, code: TypeCode): string {
  if (typeof value === 'string') return value
  if (value instanceof DataType) return value.toString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (code === TypeCode.Null) throw new InternalError('Expect a not null value of runtime.String')
  throw wrongCode(TypeCode.Str, code)
}

function elementType(value: Value, code: TypeCode): DataType {
  if (value instanceof DataType) return value
  if (typeof value === 'string') return dataType(value)
  if (code === TypeCode.Null) return dataType('void')
  throw wrongCode(TypeCode.DataType, code)
}

const conversions: { readonly [T in ConversionTarget]: Convert<ConversionTargets[T]> } = {
  int64: integer,
  int32,
  uint64,
  double,
  bool: (value, code) => integer(value, code) !== 0,
  'void*': orNull(pointer),
  'DLTensor*': orNull(dlTensor),
  NDArray: orNull(only(TypeCode.NDArray)),
  PackedFunc: orNull(only(TypeCode.PackedFunc)),
  Module: orNull(only(TypeCode.Module)),
  Object: orNull(object),
  string: text,
  DLDataType: elementType,
  DLDevice: only(TypeCode.Device),
}

/** Converts a value by the rules of TVM 0.18. @throws {PackedFuncError} of kind `InternalError` if it does not convert. */
export function convert<T extends ConversionTarget>(value: Value, code: TypeCode, target: T): ConversionTargets[T] {
  return (conversions[target] as Convert<ConversionTargets[T]>)(value, code)
}

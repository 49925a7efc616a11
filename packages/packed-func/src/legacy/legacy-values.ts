import { Tensor } from '@tenon/core'
import { PackedFuncError } from '../errors/packed-func-error.ts'
import { Module } from '../functions/module.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import { DataType, DeviceValue, FloatValue, IntValue, isInt64, OpaquePointer } from '../values/scalars.ts'
import { convert, type ConversionTarget, type ConversionTargets } from './conversions.ts'
import { TypeCode } from './type-code.ts'

/** What a value of TVM to 0.20 holds, as JavaScript has it: its {@link TypeCode} tells what it is. */
export type TVMValue = Value

/** An argument of a `legacyFunc`: what arrived, and what it is read as. */
export class TVMArgValue {
  readonly typeCode: TypeCode
  /** The value as a function of `packedFunc` would get it. */
  readonly value: TVMValue

  /** @internal */
  constructor(typeCode: TypeCode, value: TVMValue) {
    this.typeCode = typeCode
    this.value = value
  }

  /**
   * Reads the value as another type: what TVM 0.18 converts, with its messages. Whole numbers are read as floats and bools,
   * never the reverse; `int32` is checked for its range, `uint64` wraps.
   *
   * @throws {PackedFuncError} of kind `InternalError` if the value is of another kind.
   * @example
   * legacyFunc((args, rv) => rv.set(args.at(0).as('double') / 2))
   */
  as<T extends ConversionTarget>(target: T): ConversionTargets[T] {
    return convert(this.value, this.typeCode, target)
  }
}

/** The arguments of a `legacyFunc`. */
export class TVMArgs {
  readonly #values: readonly TVMArgValue[]

  /** @internal */
  constructor(values: readonly TVMArgValue[]) {
    this.#values = values
  }

  get length(): number {
    return this.#values.length
  }

  /** The argument of an index. @throws {PackedFuncError} of kind `InternalError` if there is none. */
  at(index: number): TVMArgValue {
    const value = this.#values[index]
    if (value !== undefined) return value
    throw new PackedFuncError(
      'InternalError',
      `not enough argument passed, ${this.length} passed but request arg[${index}].`,
    )
  }

  [Symbol.iterator](): Iterator<TVMArgValue> {
    return this.#values[Symbol.iterator]()
  }
}

/**
 * A result of TVM to 0.20: what a `legacyFunc` sets, null until then, or what a call by `callLegacy` gave.
 *
 * @example
 * const count = packedFunc((text: string) => text.length)
 * callLegacy(count, 'abc').as('int64') // 3
 */
export class TVMRetValue {
  #value: Argument
  #code: TypeCode

  /** @internal */
  constructor(value: TVMValue = null, code: TypeCode = TypeCode.Null) {
    this.#value = value
    this.#code = code
  }

  /** Sets what the function returns. @throws {PackedFuncError} of kind `InternalError` for an integer outside int64 */
  set(value: Argument): void {
    if (typeof value === 'bigint' && !isInt64(value))
      throw new PackedFuncError('InternalError', `an integer must be from -2^63 to 2^63 - 1, got ${value}`)
    this.#value = value
    this.#code = codeOf(value)
  }

  /** What was set, or came back. */
  get value(): Argument {
    return this.#value
  }

  get typeCode(): TypeCode {
    return this.#code
  }

  /** Reads the result as another type, as {@link TVMArgValue.as} does. @throws as that */
  as<T extends ConversionTarget>(target: T): ConversionTargets[T] {
    const value = this.#value
    const plain = value instanceof FloatValue || value instanceof IntValue ? value.value : (value ?? null)
    return convert(plain as TVMValue, this.#code, target)
  }
}

/** The code of a value that is set. */
function codeOf(value: Argument): TypeCode {
  switch (typeof value) {
    case 'undefined':
      return TypeCode.Null
    case 'boolean':
      return TypeCode.Bool
    case 'bigint':
      return TypeCode.Int
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? TypeCode.Int : TypeCode.Float
    case 'string':
      return TypeCode.Str
    case 'function':
      return TypeCode.PackedFunc
    default:
      return value === null ? TypeCode.Null : (objects.find(([type]) => value instanceof type)?.[1] ?? TypeCode.Object)
  }
}

type Class = abstract new (...values: never[]) => object

const objects: readonly (readonly [Class, TypeCode])[] = [
  [IntValue, TypeCode.Int],
  [FloatValue, TypeCode.Float],
  [Uint8Array, TypeCode.Bytes],
  [Tensor, TypeCode.NDArray],
  [PackedFunc, TypeCode.PackedFunc],
  [Module, TypeCode.Module],
  [DataType, TypeCode.DataType],
  [DeviceValue, TypeCode.Device],
  [OpaquePointer, TypeCode.OpaqueHandle],
]

import type { Tensor } from '@tenon/core'
import { describe, inspectAsText, wrongType } from '@tenon/core/internal'
import { InternalError, PackedFuncError } from '../errors/error-kinds.ts'
import { packedFunc } from '../functions/closure.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import { NativeObject } from '../objects/native-object.ts'
import type { Argument, Value } from '../values/argument.ts'
import { argumentTypes, resultType, typeIndexOf } from '../values/native-type.ts'
import { float, FloatValue, IntValue, isInt64 } from '../values/scalars.ts'
import { tensorView } from '../values/wrappers.ts'
import { convert, type ConversionTarget, type ConversionTargets } from './conversions.ts'
import { codeOfTypeIndex, nameOfCode, TypeCode } from './type-code.ts'

/** A value of TVM to 0.20 in JavaScript. Its {@link TypeCode} says which type it has in native code. */
export type TVMValue = Value

const textOf = (code: TypeCode, value: unknown): string =>
  `${nameOfCode(code)} ${value instanceof NativeObject ? value.toString() : describe(value)}`

/** An argument of a `legacyFunc`, with the type that it has in native code. */
export class TVMArgValue {
  readonly typeCode: TypeCode
  /** The value as a function made by `packedFunc` gets it. */
  readonly value: TVMValue

  /** @internal */
  constructor(typeCode: TypeCode, value: TVMValue) {
    this.typeCode = typeCode
    this.value = value
  }

  /**
   * Converts the value as TVM 0.18 does, with its messages. Whole numbers convert to floats and bools, never the reverse. `int32`
   * is checked for its range, `uint64` wraps.
   *
   * @throws {PackedFuncError} of kind `InternalError` if the value does not convert.
   * @example
   * legacyFunc((args, rv) => rv.set(args.at(0).as('double') / 2))
   */
  as<T extends ConversionTarget>(target: T): ConversionTargets[T] {
    return convert(this.value, this.typeCode, target)
  }

  /** The type and the value: `TVMArgValue(int 3)`. */
  toString(): string {
    return `TVMArgValue(${textOf(this.typeCode, this.value)})`
  }
}

/**
 * The arguments of a `legacyFunc`. They are also its elements by index: `args[0]` is `args.at(0)`, and undefined if there is none.
 */
export class TVMArgs {
  readonly [index: number]: TVMArgValue
  readonly #values: readonly TVMArgValue[]

  /** @internal */
  constructor(values: readonly TVMArgValue[]) {
    this.#values = values
    values.forEach((value, index) => Object.defineProperty(this, index, { value, enumerable: true }))
  }

  get length(): number {
    return this.#values.length
  }

  /** The argument at an index from 0. @throws {PackedFuncError} of kind `InternalError` if there is none. */
  at(index: number): TVMArgValue {
    const value = this.#values[index]
    if (value !== undefined) return value
    throw new InternalError(`not enough argument passed, ${this.length} passed but request arg[${index}].`)
  }

  [Symbol.iterator](): Iterator<TVMArgValue> {
    return this.#values[Symbol.iterator]()
  }

  /** The types and the values: `TVMArgs(int 3, str "x")`. */
  toString(): string {
    return `TVMArgs(${this.#values.map(({ typeCode, value }) => textOf(typeCode, value)).join(', ')})`
  }
}

/**
 * A result of TVM to 0.20: the one that a `legacyFunc` sets, null until then, or the one that `callLegacy` returns.
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

  /** Sets the result of the function. @throws {PackedFuncError} of kind `InternalError` for an integer outside int64. */
  set(value: Argument): void {
    if (typeof value === 'bigint' && !isInt64(value))
      throw new InternalError(`an integer must be from -2^63 to 2^63 - 1, got ${value}`)
    this.#value = value
    this.#code = codeOfTypeIndex(typeIndexOf(value))
  }

  get value(): Argument {
    return this.#value
  }

  get typeCode(): TypeCode {
    return this.#code
  }

  /** Converts the result as {@link TVMArgValue.as} does. @throws as it does */
  as<T extends ConversionTarget>(target: T): ConversionTargets[T] {
    const value = this.#value
    const plain = value instanceof FloatValue || value instanceof IntValue ? value.value : (value ?? null)
    return convert(plain as TVMValue, this.#code, target)
  }

  /** Closes the value if it is a native object, and sets it to null. It may be called again. */
  close(): void {
    const value = this.#value
    this.set(null)
    if (value instanceof NativeObject) value[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** The type and the value: `TVMRetValue(float 1.5)`. */
  toString(): string {
    return `TVMRetValue(${textOf(this.#code, this.#value)})`
  }
}

for (const Class of [TVMArgValue, TVMArgs, TVMRetValue]) inspectAsText(Class)

/**
 * Makes a packed function in the style of TVM to 0.20. The function gets all arguments with their type codes, converts them
 * itself, and sets its result. Kernels of both calling conventions can call it.
 *
 * Arguments are copies or references that the function may keep, except `DLTensor*`, which is closed when the call ends.
 *
 * @throws {ArgumentError} if `run` is not a function.
 * @example
 * const addOne = legacyFunc((args, rv) => rv.set(args.at(0).as('int32') + 1))
 * addOne(41) // 42
 */
export function legacyFunc(run: (args: TVMArgs, rv: TVMRetValue) => void): PackedFunc {
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  const converting = packedFunc((...values: Value[]) => {
    const types = argumentTypes(values)
    const result = new TVMRetValue()
    run(new TVMArgs(values.map((value, i) => new TVMArgValue(codeOfTypeIndex(types[i]!), value))), result)
    return result.value
  })
  return converting.rename(run.name)
}

/**
 * Calls a function and returns its result with its type code, which distinguishes ints from floats.
 *
 * @throws as `PackedFunc.call`.
 * @example
 * const half = packedFunc((x: number) => float(x / 2))
 * callLegacy(half, 4).typeCode // TypeCode.Float
 */
export function callLegacy(target: PackedFunc, ...values: Argument[]): TVMRetValue {
  if (!(target instanceof PackedFunc)) throw wrongType('target', 'a PackedFunc', target)
  const value = target(...values)
  return new TVMRetValue(value, codeOfTypeIndex(resultType(value)))
}

/**
 * Calls a function with the arguments that a `legacyFunc` got, each with the type that it has in native code: an int stays an int, a float
 * a float, and a borrowed tensor a `DLTensor*`.
 *
 * @throws {ArgumentError} if `args` is not the `TVMArgs` of a call. @throws as {@link callLegacy}
 * @example
 * const sum = packedFunc((a: number, b: number) => a + b)
 * const forward = legacyFunc((args, rv) => rv.set(callPacked(sum, args).value))
 * forward(1, 2) // 3
 */
export function callPacked(target: PackedFunc, args: TVMArgs): TVMRetValue {
  if (!(args instanceof TVMArgs)) throw wrongType('args', 'the TVMArgs of a legacyFunc', args)
  return callLegacy(target, ...Array.from(args, asGiven))
}

/** The argument that has the same type in native code again. */
function asGiven({ typeCode, value }: TVMArgValue): Argument {
  if (typeCode === TypeCode.Float) return float(value as number)
  return typeCode === TypeCode.DLTensor ? tensorView(value as Tensor) : value
}

/** The names of types in a printed signature, where they differ from the target's. */
const printed: Readonly<Partial<Record<ConversionTarget, string>>> = {
  int64: 'int64_t',
  int32: 'int',
  uint64: 'uint64_t',
}

/** The values to which arguments are converted, in order. */
export type Converted<P extends readonly ConversionTarget[]> = { [I in keyof P]: ConversionTargets[P[I]] }

/**
 * A {@link legacyFunc} whose arguments are converted to `targets`, as `TypedPackedFunc` does. Calls with another number of
 * arguments, or with a value of another type, fail with the messages of TVM 0.18.
 *
 * @param name the name of the function in messages.
 * @example
 * const repeat = typedLegacyFunc(['string', 'int32'], (text, count) => text.repeat(count), 'repeat')
 * repeat('ab', 2) // 'abab'
 */
export function typedLegacyFunc<const P extends readonly ConversionTarget[]>(
  targets: P,
  run: (...values: Converted<P>) => Argument | void,
  name?: string,
): PackedFunc {
  if (!Array.isArray(targets)) throw wrongType('targets', 'an array of types', targets)
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  const signature = `(${targets.map((target, i) => `${i}: ${printed[target] ?? target}`).join(', ')})`
  const title = `${name ?? '<anonymous> '}${signature}`
  const converting = legacyFunc((args, rv) => {
    if (args.length !== targets.length) {
      const [comma, end] = name === undefined ? [',', '.'] : ['', '']
      throw new InternalError(
        `Function ${title} expects ${targets.length} arguments${comma} but ${args.length} were provided${end}`,
      )
    }
    const values = targets.map((target, i) => {
      try {
        return args.at(i).as(target)
      } catch (error) {
        if (!(error instanceof PackedFuncError)) throw error
        throw new PackedFuncError(
          error.kind,
          `In function ${title}: error while converting argument ${i}: ${error.sentence}`,
          { cause: error },
        )
      }
    })
    rv.set(run(...(values as unknown as Converted<P>)) ?? null)
  })
  return converting.rename(name ?? run.name)
}

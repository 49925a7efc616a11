import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { PackedFuncError } from '../errors/packed-func-error.ts'
import { packedFunc } from '../functions/closure.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import { argumentTypes, resultType } from '../values/argument-types.ts'
import type { ConversionTarget, ConversionTargets } from './conversions.ts'
import { TVMArgs, TVMArgValue, TVMRetValue } from './legacy-values.ts'
import { codeOfTypeIndex } from './type-code.ts'

/**
 * Makes a packed function in the manner of TVM to 0.20: the function gets all arguments with their type codes, converts them
 * itself, and sets its result. It is a packed function like any other: kernels of both conventions call it.
 *
 * Arguments are copies, or references of its own that may be kept, except `DLTensor*`, which ends with the call.
 *
 * @throws {ArgumentError} if it is no function.
 * @example
 * const addOne = legacyFunc((args, rv) => rv.set(args.at(0).as('int32') + 1))
 * addOne.call(41) // 42
 */
export function legacyFunc(run: (args: TVMArgs, rv: TVMRetValue) => void): PackedFunc {
  if (typeof run !== 'function') throw new ArgumentError(`run must be a function, got ${describe(run)}`)
  return packedFunc((...values: Value[]) => {
    const types = argumentTypes(values)
    const result = new TVMRetValue()
    run(new TVMArgs(values.map((value, i) => new TVMArgValue(codeOfTypeIndex(types[i]!), value))), result)
    return result.value
  })
}

/**
 * Calls a function and gives its result with its type code: JavaScript alone has one type for ints and floats.
 *
 * @throws what `PackedFunc.call` throws.
 * @example
 * const half = packedFunc((x: number) => float(x / 2))
 * callLegacy(half, 4).typeCode // TypeCode.Float
 */
export function callLegacy(target: PackedFunc, ...values: Argument[]): TVMRetValue {
  const value = target.call(...values)
  return new TVMRetValue(value, codeOfTypeIndex(resultType(value)))
}

/** How the types of a signature are printed. */
const printed: Readonly<Partial<Record<ConversionTarget, string>>> = {
  int64: 'int64_t',
  int32: 'int',
  uint64: 'uint64_t',
}

/** What a function gets for a list of targets. */
type Converted<P extends readonly ConversionTarget[]> = { [I in keyof P]: ConversionTargets[P[I]] }

/**
 * A {@link legacyFunc} whose arguments are converted for it, as `TypedPackedFunc` does. Calls with another number of arguments,
 * or with a value that is none of its type, fail with the texts of TVM 0.18.
 *
 * @param name for messages.
 * @example
 * const repeat = typedLegacyFunc(['string', 'int32'], (text, count) => text.repeat(count), 'repeat')
 * repeat.call('ab', 2) // 'abab'
 */
export function typedLegacyFunc<const P extends readonly ConversionTarget[]>(
  targets: P,
  run: (...values: Converted<P>) => Argument | void,
  name?: string,
): PackedFunc {
  const signature = `(${targets.map((target, i) => `${i}: ${printed[target] ?? target}`).join(', ')})`
  return legacyFunc((args, rv) => {
    if (args.length !== targets.length) {
      const counts = `expects ${targets.length} arguments${name === undefined ? ',' : ''} but ${args.length} were provided`
      throw new PackedFuncError(
        'InternalError',
        name === undefined ? `Function <anonymous> ${signature} ${counts}.` : `Function ${name}${signature} ${counts}`,
      )
    }
    const values = targets.map((target, i) => {
      try {
        return args.at(i).as(target)
      } catch (error) {
        if (!(error instanceof PackedFuncError)) throw error
        throw new PackedFuncError(
          error.kind,
          `In function ${name ?? '<anonymous> '}${signature}: error while converting argument ${i}: ${error.sentence}`,
          { cause: error },
        )
      }
    })
    rv.set(run(...(values as unknown as Converted<P>)) ?? null)
  })
}

import { wrongType } from '@tenon/core/internal'
import { InternalError, PackedFuncError } from '../errors/error-kinds.ts'
import { packedFunc } from '../functions/closure.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { argumentTypes, resultType } from '../values/native-type.ts'
import type { Argument, Value } from '../values/argument.ts'
import type { ConversionTarget, ConversionTargets } from './conversions.ts'
import { TVMArgs, TVMArgValue, TVMRetValue } from './legacy-values.ts'
import { codeOfTypeIndex } from './type-code.ts'

/**
 * Makes a packed function in the style of TVM to 0.20. The function gets all arguments with their type codes, converts them
 * itself, and sets its result. Kernels of both calling conventions can call it.
 *
 * Arguments are copies or references that the function may keep, except `DLTensor*`, which is closed when the call ends.
 *
 * @throws {ArgumentError} if `run` is not a function.
 * @example
 * const addOne = legacyFunc((args, rv) => rv.set(args.at(0).as('int32') + 1))
 * addOne.call(41) // 42
 */
export function legacyFunc(run: (args: TVMArgs, rv: TVMRetValue) => void): PackedFunc {
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  return packedFunc((...values: Value[]) => {
    const types = argumentTypes(values)
    const result = new TVMRetValue()
    run(new TVMArgs(values.map((value, i) => new TVMArgValue(codeOfTypeIndex(types[i]!), value))), result)
    return result.value
  })
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
  const value = target.call(...values)
  return new TVMRetValue(value, codeOfTypeIndex(resultType(value)))
}

/** The names of types in a printed signature, where they differ from the target's. */
const printed: Readonly<Partial<Record<ConversionTarget, string>>> = {
  int64: 'int64_t',
  int32: 'int',
  uint64: 'uint64_t',
}

/** The arguments of a function for a list of targets. */
type Converted<P extends readonly ConversionTarget[]> = { [I in keyof P]: ConversionTargets[P[I]] }

/**
 * A {@link legacyFunc} whose arguments are converted to `targets`, as `TypedPackedFunc` does. Calls with another number of
 * arguments, or with a value of another type, fail with the messages of TVM 0.18.
 *
 * @param name the name of the function in messages.
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
      throw new InternalError(
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

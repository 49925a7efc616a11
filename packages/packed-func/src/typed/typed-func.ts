import { checkOptions, wrongType } from '@tenon/core/internal'
import { packedFunc } from '../functions/closure.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { argumentTypes } from '../values/native-type.ts'
import type { Argument, Value } from '../values/argument.ts'
import { Mismatch, type Accepted, type Acceptor } from './accept.ts'
import { Signature } from './signature.ts'

/** The arguments of a function for a list of acceptors. */
type AcceptedAll<P extends readonly Acceptor<unknown>[]> = { [I in keyof P]: Accepted<P[I]> }

/**
 * Makes a packed function of a TypeScript function, and checks and converts its arguments as tvm-ffi does for a function of C++.
 * Callers with other values, or another number of them, get tvm-ffi's messages.
 *
 * @param options.name the name of the function in messages. @param options.result the name of its result's type in messages.
 * @throws {ArgumentError} if `run` is not a function, or an option is not known.
 * @example
 * const repeat = typedFunc([accept.str, accept.int], (text, count) => text.repeat(Number(count)), { name: 'repeat' })
 * repeat.call('ab', 2) // 'abab'
 */
export function typedFunc<const P extends readonly Acceptor<unknown>[]>(
  parameters: P,
  run: (...values: AcceptedAll<P>) => Argument | void,
  options?: { readonly name?: string; readonly result?: string },
): PackedFunc {
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  const { name = '', result = 'Any' } = checkOptions(options, ['name', 'result'])
  const signature = new Signature(parameters, { name: result }, name)
  return packedFunc((...values: Value[]) => {
    const types = argumentTypes(values)
    if (values.length !== parameters.length) throw signature.wrongCount(values.length)
    const accepted = parameters.map((type, i) => {
      const read = type.read(values[i]!, types[i]!)
      if (read instanceof Mismatch) throw signature.mismatch(i, read.got)
      return read
    })
    return run(...(accepted as unknown as AcceptedAll<P>))
  })
}

import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { packedFunc } from '../functions/closure.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import { argumentTypes } from '../values/argument-types.ts'
import { Mismatch, type Accepted, type Acceptor } from './accept.ts'

/** What a function gets for a list of acceptors. */
type AcceptedAll<P extends readonly Acceptor<unknown>[]> = { [I in keyof P]: Accepted<P[I]> }

/**
 * Makes a packed function out of a function of TypeScript whose arguments are checked and converted for it, as tvm-ffi does
 * for a function of C++: whoever calls it with other values, or another number of them, gets tvm-ffi's own words.
 *
 * @param options `name` and `result` (a type's name) are for messages.
 * @throws {ArgumentError} if it is no function.
 * @example
 * const repeat = typedFunc([accept.str, accept.int], (text, count) => text.repeat(Number(count)), { name: 'repeat' })
 * repeat.call('ab', 2) // 'abab'
 */
export function typedFunc<const P extends readonly Acceptor<unknown>[]>(
  parameters: P,
  run: (...values: AcceptedAll<P>) => Argument | void,
  options: { readonly name?: string; readonly result?: string } = {},
): PackedFunc {
  if (typeof run !== 'function') throw new ArgumentError(`run must be a function, got ${describe(run)}`)
  const { name = '', result = 'Any' } = options
  const signature = `${name}(${parameters.map((type, i) => `${i}: ${type.name}`).join(', ')}) -> ${result}`
  const failure = (what: string, sentence: string): PackedFuncTypeError =>
    new PackedFuncTypeError('TypeError', `Mismatched ${what} when calling: \`${signature}\`. ${sentence}`)
  return packedFunc((...values: Value[]) => {
    const types = argumentTypes(values)
    if (values.length !== parameters.length)
      throw failure('number of arguments', `Expected ${parameters.length} but got ${values.length} arguments`)
    const accepted = parameters.map((type, i) => {
      const made = type.read(values[i]!, types[i]!)
      if (!(made instanceof Mismatch)) return made
      throw failure(`type on argument #${i}`, `Expected \`${type.name}\` but got \`${made.got}\``)
    })
    return run(...(accepted as unknown as AcceptedAll<P>))
  })
}

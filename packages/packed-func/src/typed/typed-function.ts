import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import type { PackedFunc } from '../functions/packed-func.ts'
import { MISMATCH, Form, type AnyDescriptor, type InputOf, type OutputOf } from './descriptor.ts'
import { Signature } from './signature.ts'
import type { Value } from '../values/argument.ts'

type Required<T extends readonly unknown[]> = { [K in keyof T]: InputOf<T[K]> }

/** The parameters that the caller has: trailing optional ones may be left out. */
export type ParametersOf<T extends readonly unknown[]> = T extends readonly [...infer Head, infer Last]
  ? undefined extends InputOf<Last>
    ? ParametersOf<Head> | [...Required<Head>, InputOf<Last>]
    : Required<T>
  : Required<T>

/** A packed function with the types of its parameters and its result. */
export type TypedFunction<P extends readonly unknown[], R> = (
  ...values: ParametersOf<P> extends infer T extends readonly unknown[] ? T : never
) => OutputOf<R>

/**
 * Gives a packed function the types of its parameters and its result: TypeScript checks them when it is compiled, and the
 * values are checked and converted when it is called, before native code sees them.
 *
 * @param name for messages.
 * @throws {ArgumentError} if a type is none. @throws {PackedFuncTypeError} when it is called with values of other types, or returns one.
 * @example
 * const scale = typed(getGlobal('mylib.scale'), [t.tensor, t.float, t.optional(t.str)], t.none)
 * scale(x, 2) // 2 travels as a float
 */
export function typed<const P extends readonly AnyDescriptor[], R extends AnyDescriptor>(
  target: PackedFunc,
  parameters: P,
  result: R,
  name = '',
): TypedFunction<P, R> {
  if (!Array.isArray(parameters)) throw new ArgumentError(`parameters must be an array, got ${describe(parameters)}`)
  parameters.forEach((type, i) => checkDescriptor(type, `parameters[${i}]`))
  checkDescriptor(result, 'result')
  const signature = new Signature([...parameters], result, name)
  const count = parameters.length
  const general = (values: readonly unknown[]): unknown => {
    if (values.length < signature.fewest || values.length > count) throw signature.wrongCount(values.length)
    return resultOf(signature, target.callTyped(signature, values))
  }
  const wrapper =
    count > 3
      ? (...values: unknown[]) => general(values)
      : // Named parameters: a rest parameter takes a third longer.
        function (a?: unknown, b?: unknown, c?: unknown): unknown {
          if (arguments.length !== count) return general(Array.from(arguments))
          return resultOf(signature, target.callTypedFew(signature, count, a, b, c))
        }
  return wrapper as unknown as TypedFunction<P, R>
}

function checkDescriptor(type: unknown, name: string): void {
  if (typeof type !== 'object' || type === null || !('fromNative' in type))
    throw new ArgumentError(`${name} must be a type such as t.int, got ${describe(type)}`)
}

/** What a call gave, if it has the type. */
function resultOf(signature: Signature, value: Value): unknown {
  const { result } = signature
  if (typeof value === 'number') {
    if (result.form === Form.Float) return value
    if (result.form === Form.Int && (value | 0) === value && value >= result.low && value <= result.high) return value
  }
  const made = result.fromNative(value)
  if (made !== MISMATCH) return made
  throw signature.wrongResult(value)
}

import { wrongType } from '@tenon/core/internal'
import type { Value } from '../values/argument.ts'
import { Form, MISMATCH, Signature, type AnyDescriptor, type InputOf, type OutputOf } from './descriptor.ts'
import { typeName } from '../values/native-type.ts'

type Required<T extends readonly unknown[]> = { [K in keyof T]: InputOf<T[K]> }

/** The parameters of a typed function. Trailing optional ones may be omitted. */
export type ParametersOf<T extends readonly unknown[]> = T extends readonly [...infer Head, infer Last]
  ? undefined extends InputOf<Last>
    ? ParametersOf<Head> | [...Required<Head>, InputOf<Last>]
    : Required<T>
  : Required<T>

/** A packed function with the types of its parameters and its result. */
export type TypedFunction<P extends readonly unknown[], R> = (
  ...values: ParametersOf<P> extends infer T extends readonly unknown[] ? T : never
) => OutputOf<R>

interface TypedTarget {
  callTypedFew(signature: Signature, count: number, a: unknown, b: unknown, c: unknown): Value
  callTyped(signature: Signature, values: readonly unknown[]): Value
}

/** @throws {ArgumentError} if a type is not a type such as `t.int`. */
export function bindTypes<P extends readonly AnyDescriptor[], R extends AnyDescriptor>(
  target: TypedTarget,
  parameters: P,
  result: R,
  name: string,
): TypedFunction<P, R> {
  if (!Array.isArray(parameters)) throw wrongType('parameters', 'an array', parameters)
  parameters.forEach((type, i) => checkDescriptor(type, `parameters[${i}]`))
  checkDescriptor(result, 'result')
  const signature = new Signature<AnyDescriptor>([...parameters], result, name)
  const count = parameters.length
  const fewest = parameters.findLastIndex((type) => !type.isOptional) + 1
  const general = (values: readonly unknown[]): unknown => {
    if (values.length < fewest || values.length > count) throw signature.wrongCount(values.length)
    return resultOf(signature, result, target.callTyped(signature, values))
  }
  const wrapper =
    count > 3
      ? (...values: unknown[]) => general(values)
      : // Named parameters, because a rest parameter takes a third longer.
        function (a?: unknown, b?: unknown, c?: unknown): unknown {
          if (arguments.length !== count) return general(Array.from(arguments))
          return resultOf(signature, result, target.callTypedFew(signature, count, a, b, c))
        }
  return Object.defineProperty(wrapper, 'name', { value: name || 'typed' }) as unknown as TypedFunction<P, R>
}

function checkDescriptor(type: unknown, name: string): void {
  if (typeof type !== 'object' || type === null || !('fromNative' in type))
    throw wrongType(name, 'a type such as t.int', type)
}

function resultOf(signature: Signature, result: AnyDescriptor, value: Value): unknown {
  if (typeof value === 'number') {
    if (result.form === Form.Float) return value
    if (result.form === Form.Int && (value | 0) === value && value >= result.low && value <= result.high) return value
  }
  const converted = result.fromNative(value)
  if (converted !== MISMATCH) return converted
  throw signature.wrongResult(typeName(value))
}

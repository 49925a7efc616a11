import { traceCall, wrongType } from '@tenon/core/internal'
import { callOnThread } from '../functions/async-call.ts'
import { AsyncForm, type AsyncOptions } from '../functions/async-form.ts'
import { type Callee, calls, packedTrace, readResult } from '../functions/call.ts'
import { tryCall, type CallResult } from '../functions/try-call.ts'
import type { NativeObject } from '../objects/native-object.ts'
import type { Argument, Value } from '../values/argument.ts'
import { Form, MISMATCH, Signature, type AnyDescriptor, type InputOf, type OutputOf } from './descriptor.ts'
import { typeName } from '../values/native-type.ts'

type Required<T extends readonly unknown[]> = { [K in keyof T]: InputOf<T[K]> }

/** The parameters of a typed function. Trailing optional ones may be omitted. */
export type ParametersOf<T extends readonly unknown[]> = T extends readonly [...infer Head, infer Last]
  ? undefined extends InputOf<Last>
    ? ParametersOf<Head> | [...Required<Head>, InputOf<Last>]
    : Required<T>
  : Required<T>

/** The arguments of a function whose parameters have these types. */
export type Values<P extends readonly unknown[]> =
  ParametersOf<P> extends infer T extends readonly unknown[] ? T : never

/**
 * A packed function with the types of its parameters and its result, which `PackedFunc.typed` makes. It is a `PackedFunc` with a
 * reference of its own, so it can be passed, returned, kept and closed like any other, and native code that gets it calls the
 * function without these types.
 */
export interface TypedFunction<P extends readonly unknown[], R> extends NativeObject {
  (...values: Values<P>): OutputOf<R>

  /** As `PackedFunc.async`. The promise also rejects if an argument or the result has another type. */
  readonly async: (...values: Values<P>) => Promise<OutputOf<R>>

  /** As `PackedFunc.with`. */
  readonly with: (options: AsyncOptions) => AsyncForm<Values<P>, OutputOf<R>>

  /** As `PackedFunc.tryCall`. It throws if an argument or the result has another type. */
  readonly tryCall: (...values: Values<P>) => CallResult<OutputOf<R>>
}

/**
 * Returns the maker of the JavaScript function that checks and converts the values of each call of a packed function.
 *
 * @param name the name in the messages about types. @param ownName the name of the packed function, which the JavaScript function has without it.
 * @throws {ArgumentError} if a type is not a type such as `t.int`.
 */
export function typedForm(
  parameters: readonly AnyDescriptor[],
  result: AnyDescriptor,
  name: string,
  ownName: string,
): (callee: Callee) => object {
  if (!Array.isArray(parameters)) throw wrongType('parameters', 'an array', parameters)
  parameters.forEach((type, i) => checkDescriptor(type, `parameters[${i}]`))
  checkDescriptor(result, 'result')
  const signature = new Signature<AnyDescriptor>([...parameters], result, name)
  return (callee) => {
    const later = async (values: readonly unknown[], signal?: AbortSignal): Promise<unknown> =>
      resultOf(signature, result, await callOnThread(callee.owner, toNative(signature, values), signal, values))
    const members = {
      name: name || ownName || 'typed',
      async: (...values: unknown[]) => later(values),
      with: (options: AsyncOptions) => new AsyncForm(String(signature), options, later),
      tryCall: (...values: unknown[]): CallResult<unknown> => {
        const outcome = tryCall(callee, toNative(signature, values))
        return outcome.ok ? { ok: true, value: resultOf(signature, result, outcome.value) } : outcome
      },
    }
    const callable = callableOf(callee, signature, result)
    for (const [key, value] of Object.entries(members)) Object.defineProperty(callable, key, { value })
    return callable
  }
}

function callableOf(callee: Callee, signature: Signature, result: AnyDescriptor): object {
  const { all, typedFew, isTraced } = calls()
  const count = signature.parameters.length
  const plain = (values: readonly unknown[]): unknown =>
    resultOf(signature, result, all(callee, toNative(signature, values), readResult))
  const general = (values: readonly unknown[]): unknown =>
    isTraced() ? traceCall(packedTrace(callee, values, false), () => plain(values)) : plain(values)
  if (count > 3) return (...values: unknown[]) => general(values)
  // Named parameters, because a rest parameter takes a third longer.
  return function (a?: unknown, b?: unknown, c?: unknown): unknown {
    if (arguments.length !== count || isTraced()) return general(Array.from(arguments))
    return resultOf(signature, result, typedFew(callee, signature, count, a, b, c))
  }
}

/** Converts all arguments. Omitted trailing ones are None. @throws {PackedFuncTypeError} */
function toNative(signature: Signature, values: readonly unknown[]): Argument[] {
  const { parameters } = signature
  const fewest = parameters.findLastIndex((type) => !type.isOptional) + 1
  if (values.length < fewest || values.length > parameters.length) throw signature.wrongCount(values.length)
  return parameters.map((type, i) => {
    const native = type.toNative(i < values.length ? values[i] : null)
    if (native === MISMATCH) throw signature.mismatch(i, typeName(values[i]))
    return native
  })
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

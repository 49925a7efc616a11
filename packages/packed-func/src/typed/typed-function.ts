import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { typeName } from './type-name.ts'
import type { Argument } from '../values/argument.ts'
import { MISMATCH, type InputOf, type OutputOf, type TypeDescriptor } from './descriptor.ts'

/** Any descriptor. */
export type AnyDescriptor = TypeDescriptor<unknown, unknown>

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
 * @throws {PackedFuncTypeError} when it is called with values of other types, or returns one.
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
  const signature = signatureOf(name, parameters, result)
  const fewest = parameters.findLastIndex((type) => type.isOptional !== true) + 1
  const count = parameters.length
  const converters = parameters.map((type) => type.toNative)
  const convert = (value: unknown, index: number): Argument => {
    const native = converters[index]!(value)
    if (native !== MISMATCH) return native
    throw new PackedFuncTypeError(
      'TypeError',
      `Mismatched type on argument #${index} when calling: \`${signature}\`. ` +
        `Expected \`${parameters[index]!.name}\` but got \`${typeName(value)}\``,
    )
  }
  const check = (given: number): void => {
    if (given >= fewest && given <= count) return
    throw new PackedFuncTypeError(
      'TypeError',
      `Mismatched number of arguments when calling: \`${signature}\`. Expected ${count} but got ${given} arguments`,
    )
  }
  const finish = (value: ReturnType<PackedFunc['call']>): unknown => {
    const made = result.fromNative(value)
    if (made !== MISMATCH) return made
    throw new PackedFuncTypeError(
      'TypeError',
      `Mismatched type of the result of \`${signature}\`. Expected \`${result.name}\` but got \`${typeName(value)}\``,
    )
  }
  return wrapperFor(target, count, convert, check, finish) as unknown as TypedFunction<P, R>
}

type Wrapper = (...values: unknown[]) => unknown

/** A wrapper for the number of parameters: the usual numbers without a loop. */
function wrapperFor(
  target: PackedFunc,
  count: number,
  convert: (value: unknown, index: number) => Argument,
  check: (given: number) => void,
  finish: (value: ReturnType<PackedFunc['call']>) => unknown,
): Wrapper {
  const general: Wrapper = (...values) => {
    check(values.length)
    const converted = values.map((value, i) => convert(value, i))
    // Parameters that were left out are None for native code.
    while (converted.length < count) converted.push(null)
    return finish(target.call(...converted))
  }
  switch (count) {
    case 1:
      return (...values) => (values.length === 1 ? finish(target.call(convert(values[0], 0))) : general(...values))
    case 2:
      return (...values) =>
        values.length === 2 ? finish(target.call(convert(values[0], 0), convert(values[1], 1))) : general(...values)
    case 3:
      return (...values) =>
        values.length === 3
          ? finish(target.call(convert(values[0], 0), convert(values[1], 1), convert(values[2], 2)))
          : general(...values)
    default:
      return general
  }
}

/** As tvm-ffi prints it: `add(0: int, 1: int) -> int`. */
function signatureOf(name: string, parameters: readonly AnyDescriptor[], result: AnyDescriptor): string {
  return `${name}(${parameters.map((type, i) => `${i}: ${type.name}`).join(', ')}) -> ${result.name}`
}

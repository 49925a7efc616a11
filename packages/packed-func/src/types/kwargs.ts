import { ArgumentError } from '@tenon/core'
import { inspectAsText, isPlainObject, wrongType } from '@tenon/core/internal'
import { builtin } from '../functions/registry.ts'
import type { Argument } from '../values/argument.ts'

/** The named values of a constructor: made by {@link kwargs}. */
export class Kwargs {
  static {
    inspectAsText(this)
  }

  readonly #entries: readonly (readonly [name: string, value: Argument])[]

  /** @internal */
  constructor(entries: readonly (readonly [name: string, value: Argument])[]) {
    this.#entries = entries
  }

  /** @internal the arguments in the convention of tvm-ffi: a mark, and then names and values */
  toArguments(): Argument[] {
    return [builtin('ffi.GetKwargsObject')(), ...this.#entries.flat()]
  }

  /** The names: `kwargs(width, height)`. */
  toString(): string {
    return `kwargs(${this.#entries.map(([name]) => name).join(', ')})`
  }
}

/**
 * Names values for a constructor with one value for each field. It is the last argument. A value that is undefined is left out, so
 * that the field has its default.
 *
 * @throws {ArgumentError} if `values` is not a plain object. The constructor throws a {@link PackedFuncTypeError} for unknown names,
 * and an ArgumentError if the type has a constructor of its own, which takes no names.
 * @example
 * String(kwargs({ width: 2, height: undefined })) // 'kwargs(width)'
 */
export function kwargs(values: Readonly<Record<string, Argument>>): Kwargs {
  if (!isPlainObject(values)) throw wrongType('values', 'a plain object', values)
  return new Kwargs(Object.entries(values).filter(([, value]) => value !== undefined))
}

/** Expands the named values at the end of arguments. @throws {ArgumentError} if they are somewhere else, or are refused. */
export function expandKwargs(values: readonly unknown[], className: string, takesNames: boolean): readonly unknown[] {
  const at = values.findIndex((value) => value instanceof Kwargs)
  if (at === -1) return values
  if (!takesNames) {
    throw new ArgumentError(
      `the constructor of ${className} must get values without names, got ${String(values[at])}`,
      {
        hint: `Pass the values in order: new ${className}(a, b).`,
        details: { name: className, expected: 'values without names', received: String(values[at]) },
      },
    )
  }
  if (at !== values.length - 1) {
    throw new ArgumentError(`kwargs() must be the last argument, got argument ${at + 1}`, {
      details: { name: 'kwargs()', expected: 'the last argument', received: `argument ${at + 1}`, path: [at] },
    })
  }
  return [...values.slice(0, at), ...(values[at] as Kwargs).toArguments()]
}

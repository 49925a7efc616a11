import { inspectAsText } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import type { Argument, Value } from '../values/argument.ts'

/** Marks a value that does not have the type. */
export const MISMATCH: unique symbol = Symbol('mismatch')

/**
 * The type of a parameter or result: how TypeScript sees it, and how calls check and convert values. `In` is the type of an
 * argument, `Out` that of a result.
 */
export interface TypeDescriptor<In, Out> {
  /** The name in messages, as tvm-ffi writes it. */
  readonly name: string
  /** Converts an argument for native code, or returns `MISMATCH`. */
  readonly toNative: (value: unknown) => Argument | typeof MISMATCH
  /** Converts a native result, or returns `MISMATCH`. */
  readonly fromNative: (value: Value) => Out | typeof MISMATCH
  /** Whether a trailing parameter of this type may be omitted. */
  readonly isOptional: boolean
  /** @internal how calls check the type inline */
  readonly form: number
  /** @internal the range of `Form.Int` */
  readonly low: number
  /** @internal */
  readonly high: number
  /** A field for TypeScript alone: it never has a value. */
  readonly in?: In
}

/** The types that calls check and write inline, without their functions. */
export const Form = { Other: 0, Int: 1, Float: 2, Tensor: 3, None: 4, Any: 5 } as const

/** A type whose values are not known. */
export type AnyDescriptor = TypeDescriptor<unknown, unknown>

/** A type that `console.log` prints as its name. */
export class NamedType {
  static {
    inspectAsText(this)
  }

  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  toString(): string {
    return this.name
  }
}

/** Makes a descriptor. All have one shape, so that calls read them fast. */
export function describeType<In, Out>(
  name: string,
  toNative: TypeDescriptor<In, Out>['toNative'],
  fromNative: TypeDescriptor<In, Out>['fromNative'],
  form: number = Form.Other,
  [low, high]: readonly [number, number] = [0, 0],
  isOptional = false,
): TypeDescriptor<In, Out> {
  return Object.assign(new NamedType(name), { toNative, fromNative, isOptional, form, low, high })
}

/** The type of an argument for a descriptor. */
export type InputOf<T> =
  T extends TypeDescriptor<infer In, never> ? In : T extends TypeDescriptor<infer In, unknown> ? In : never

/** The type of a result of a descriptor. */
export type OutputOf<T> = T extends { readonly fromNative: (value: Value) => (infer Out) | typeof MISMATCH }
  ? Exclude<Out, typeof MISMATCH>
  : never

/** The types of a function, and tvm-ffi's errors for calls that do not match them. */
export class Signature<Type extends { readonly name: string } = AnyDescriptor> {
  readonly parameters: readonly Type[]
  readonly result: { readonly name: string }
  readonly #name: string

  constructor(parameters: readonly Type[], result: { readonly name: string }, name: string) {
    this.parameters = parameters
    this.result = result
    this.#name = name
  }

  /** The signature as tvm-ffi prints it: `add(0: int, 1: int) -> int`. */
  toString(): string {
    const parameters = this.parameters.map((type, i) => `${i}: ${type.name}`).join(', ')
    return `${this.#name}(${parameters}) -> ${this.result.name}`
  }

  mismatch(index: number, received: string): PackedFuncTypeError {
    return wrongType(`on argument #${index} when calling: \`${this}\``, this.parameters[index]!.name, received)
  }

  wrongCount(received: number): PackedFuncTypeError {
    const expected = this.parameters.length
    const counts = `Expected ${expected} but got ${received} arguments`
    const sentence = `Mismatched number of arguments when calling: \`${this}\`. ${counts}`
    return new PackedFuncTypeError('TypeError', sentence, { details: { expected, received } })
  }

  wrongResult(received: string): PackedFuncTypeError {
    return wrongType(`of the result of \`${this}\``, this.result.name, received)
  }
}

function wrongType(place: string, expected: string, received: string): PackedFuncTypeError {
  const sentence = `Mismatched type ${place}. Expected \`${expected}\` but got \`${received}\``
  return new PackedFuncTypeError('TypeError', sentence, { details: { expected, received } })
}

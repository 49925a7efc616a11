import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import type { AnyDescriptor } from './descriptor.ts'

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

  /** The error for an argument whose type tvm-ffi calls `received`. */
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

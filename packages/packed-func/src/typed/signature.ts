import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import type { AnyDescriptor } from './descriptor.ts'
import { typeName } from './type-name.ts'

/** The types of a function, and the sentences that tvm-ffi has for calls that don't fit them. */
export class Signature {
  readonly parameters: readonly AnyDescriptor[]
  readonly result: AnyDescriptor
  /** How many arguments a call has to have at least: optional ones at the end may be left out. */
  readonly fewest: number
  readonly #name: string

  constructor(parameters: readonly AnyDescriptor[], result: AnyDescriptor, name: string) {
    this.parameters = parameters
    this.result = result
    this.fewest = parameters.findLastIndex((type) => !type.isOptional) + 1
    this.#name = name
  }

  /** As tvm-ffi prints it: `add(0: int, 1: int) -> int`. */
  toString(): string {
    const parameters = this.parameters.map((type, i) => `${i}: ${type.name}`).join(', ')
    return `${this.#name}(${parameters}) -> ${this.result.name}`
  }

  mismatch(index: number, value: unknown): PackedFuncTypeError {
    return new PackedFuncTypeError(
      'TypeError',
      `Mismatched type on argument #${index} when calling: \`${this}\`. ` +
        `Expected \`${this.parameters[index]!.name}\` but got \`${typeName(value)}\``,
    )
  }

  wrongCount(given: number): PackedFuncTypeError {
    const expected = this.parameters.length
    return new PackedFuncTypeError(
      'TypeError',
      `Mismatched number of arguments when calling: \`${this}\`. Expected ${expected} but got ${given} arguments`,
    )
  }

  wrongResult(value: unknown): PackedFuncTypeError {
    return new PackedFuncTypeError(
      'TypeError',
      `Mismatched type of the result of \`${this}\`. Expected \`${this.result.name}\` but got \`${typeName(value)}\``,
    )
  }
}

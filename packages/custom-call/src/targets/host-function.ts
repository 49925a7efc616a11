import type { NativeLibrary } from '@tenon/core'
import type { Gate } from '@tenon/core/internal'
import { PreparedCall } from '../call/prepared-call.ts'
import { callShape, type PrepareOptions } from '../call/prepare-options.ts'
import { openHostTarget } from './host-target.ts'

/**
 * A function of the oldest Host convention, `void f(void* out, const void** in)`. It can neither check what it is given
 * nor report a failure: the types it is prepared for must be those that it was written for. Made by {@link hostFunction}.
 */
export class HostFunction {
  /** The symbol. */
  readonly name: string
  readonly #gate: Gate
  readonly #address: number

  /** @internal */
  constructor(name: string, gate: Gate, address: number) {
    this.name = name
    this.#gate = gate
    this.#address = address
  }

  /**
   * Lays out a call for tensors of these types. `in[k]` is the data of operand k; `out` is the data of the result, or, for
   * several results, an array of pointers to them.
   *
   * @throws {ArgumentError} if a type can't be passed. @throws {ScopeClosedError} if the library is closed.
   */
  prepare(options: PrepareOptions): PreparedCall {
    if (!this.#gate.alive) this.#gate.owner.checkAlive()
    const shape = callShape(this.name, options)
    const { operandCount, types } = shape
    return new PreparedCall(
      openHostTarget(this.name, this.#gate, this.#address, operandCount, types.length - operandCount),
      shape,
    )
  }
}

/**
 * A function `void f(void* out, const void** in)` of a library.
 *
 * @throws {LoadError} if there is no such symbol. @throws {ScopeClosedError} if the library is closed.
 * @example
 * const add = hostFunction(library, 'do_custom_call')
 * using call = add.prepare({ operands: [f32([128]), f32([2048])], results: [f32([2048])] })
 * call.run([b, c], [a])
 */
export function hostFunction(library: NativeLibrary, symbol: string): HostFunction {
  return new HostFunction(symbol, library.gate, Number(library.symbol(symbol)))
}

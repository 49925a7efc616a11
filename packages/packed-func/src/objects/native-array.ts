import { builtin } from '../functions/builtin.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Value } from '../values/argument.ts'
import { NativeObject, registerClass } from './native-object.ts'

/**
 * An array in native code: an `ffi.Array`, or an `ffi.List`, which can change. Reading an element converts it to a value of
 * JavaScript. An array of JavaScript that is passed to a function becomes an `ffi.Array`.
 *
 * @example
 * for (const item of array) console.log(item)
 */
export class NativeArray extends NativeObject {
  static {
    registerClass(this, TypeIndex.Array, TypeIndex.List)
  }

  /** The number of elements. */
  get size(): number {
    return this.#ask('Size') as number
  }

  /** The element at an index from 0. @throws {PackedFuncError} of kind `IndexError`, a RangeError, if there is none. */
  get(index: number): Value {
    return this.#ask('GetItem', index)
  }

  toArray(): Value[] {
    return Array.from({ length: this.size }, (_, i) => this.get(i))
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let i = 0; i < this.size; i++) yield this.get(i)
  }

  #ask(what: 'Size' | 'GetItem', ...values: number[]): Value {
    return builtin(`${this.typeKey}${what}`).call(this, ...values)
  }
}

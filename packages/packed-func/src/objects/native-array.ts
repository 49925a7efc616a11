import { builtin } from '../functions/builtin.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Value } from '../values/argument.ts'
import { NativeObject } from './native-object.ts'

/**
 * An array of values in native code: an `ffi.Array`, or an `ffi.List`, which can change. Elements become values of
 * JavaScript when they are read; an array of JavaScript becomes one of these when it is passed.
 *
 * @example
 * for (const item of array) console.log(item)
 */
export class NativeArray extends NativeObject {
  /** The number of elements. */
  get size(): number {
    return this.#ask('Size') as number
  }

  /** The element at an index from 0. @throws {PackedFuncError} of kind `IndexError`, a RangeError, if there is none. */
  get(index: number): Value {
    return this.#ask('GetItem', index)
  }

  /** The elements, as values. */
  toArray(): Value[] {
    return Array.from({ length: this.size }, (_, i) => this.get(i))
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let i = 0; i < this.size; i++) yield this.get(i)
  }

  #ask(what: 'Size' | 'GetItem', ...values: number[]): Value {
    const family = this.typeIndex === TypeIndex.List ? 'List' : 'Array'
    return builtin(`ffi.${family}${what}`).call(this, ...values)
  }
}

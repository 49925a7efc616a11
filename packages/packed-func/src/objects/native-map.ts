import { builtin } from '../functions/builtin.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import { NativeObject } from './native-object.ts'

/* What a native iterator answers. */
const KEY = 0
const VALUE = 1
const NEXT = 2

/**
 * A map of values in native code: an `ffi.Map`, or an `ffi.Dict`, which can change. Text is found by content, numbers by
 * type and value, objects by identity. A Map of JavaScript becomes one of these when it is passed.
 */
export class NativeMap extends NativeObject {
  /** The number of entries. */
  get size(): number {
    return this.#ask('Size') as number
  }

  has(key: Argument): boolean {
    return this.#ask('Count', key) === 1
  }

  /** The value of a key. @throws {PackedFuncError} of kind `KeyError` if there is none. */
  get(key: Argument): Value {
    return this.#ask('GetItem', key)
  }

  /** The entries in order of insertion. */
  *entries(): Generator<[key: Value, value: Value]> {
    if (this.size === 0) return
    const iterator = this.#ask('ForwardIterFunctor') as PackedFunc
    try {
      do {
        yield [iterator.call(KEY), iterator.call(VALUE)]
      } while (iterator.call(NEXT) === true)
    } finally {
      iterator.dispose()
    }
  }

  /** The entries as a Map of JavaScript. */
  toMap(): Map<Value, Value> {
    return new Map(this.entries())
  }

  [Symbol.iterator](): Generator<[key: Value, value: Value]> {
    return this.entries()
  }

  #ask(what: 'Size' | 'Count' | 'GetItem' | 'ForwardIterFunctor', ...values: Argument[]): Value {
    const family = this.typeIndex === TypeIndex.Dict ? 'Dict' : 'Map'
    return builtin(`ffi.${family}${what}`).call(this, ...values)
  }
}

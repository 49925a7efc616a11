import { builtin } from '../functions/builtin.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Argument, Value } from '../values/argument.ts'
import { NativeObject, registerClass } from './native-object.ts'

/* The commands of a native iterator. */
const KEY = 0
const VALUE = 1
const NEXT = 2

/**
 * A map in native code: an `ffi.Map`, or an `ffi.Dict`, which can change. Text is looked up by content, numbers by type and
 * value, objects by identity. A Map of JavaScript that is passed to a function becomes an `ffi.Map`.
 *
 * @example
 * const map = getGlobal('ffi.Map').call('a', 1) as NativeMap
 * map.get('a') // 1
 */
export class NativeMap extends NativeObject {
  static {
    registerClass(this, TypeIndex.Map, TypeIndex.Dict)
  }

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
  entries(): Generator<[key: Value, value: Value]> {
    const same = (value: Value): Value => value
    return this.readEntries(same, same)
  }

  /** @internal the entries as `convert` reads their keys and values, right after the calls that return them */
  *readEntries<Key, Item>(
    convertKey: (value: Value) => Key,
    convert: (value: Value) => Item,
  ): Generator<[key: Key, value: Item]> {
    if (this.size === 0) return
    const iterator = this.#ask('ForwardIterFunctor') as PackedFunc
    try {
      do {
        yield [convertKey(iterator.call(KEY)), convert(iterator.call(VALUE))]
      } while (iterator.call(NEXT) === true)
    } finally {
      iterator.close()
    }
  }

  toMap(): Map<Value, Value> {
    return new Map(this.entries())
  }

  [Symbol.iterator](): Generator<[key: Value, value: Value]> {
    return this.entries()
  }

  #ask(what: 'Size' | 'Count' | 'GetItem' | 'ForwardIterFunctor', ...values: Argument[]): Value {
    return builtin(`${this.typeKey}${what}`).call(this, ...values)
  }
}

import { LAYOUTS, wrongType } from '@tenon/core/internal'
import { builtin } from '../functions/registry.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Argument, Value } from '../values/argument.ts'
import { NativeObject, registerClass } from './native-object.ts'

/** A container in native code, which functions of tvm-ffi read. */
abstract class NativeContainer extends NativeObject {
  /** The number of elements or entries. */
  get size(): number {
    return this.ask('Size') as number
  }

  /** @internal calls a function of tvm-ffi for containers of this type, such as `ffi.ArrayGetItem` */
  ask(what: 'Size' | 'Count' | 'GetItem' | 'ForwardIterFunctor', ...values: Argument[]): Value {
    return builtin(`${this.typeKey}${what}`)(this, ...values)
  }
}

/**
 * An array in native code: an `ffi.Array`, or an `ffi.List`, which can change. Reading an element converts it to a value of
 * JavaScript. An array of JavaScript that is passed to a function becomes an `ffi.Array`.
 *
 * @example
 * for (const item of array) console.log(item)
 */
export class NativeArray extends NativeContainer {
  static {
    registerClass(this, TypeIndex.Array, TypeIndex.List)
  }

  /** The element at an index from 0. @throws {PackedFuncError} of kind `IndexError`, a RangeError, if there is none. */
  get(index: number): Value {
    return this.ask('GetItem', index)
  }

  toArray(): Value[] {
    return Array.from({ length: this.size }, (_, i) => this.get(i))
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let i = 0; i < this.size; i++) yield this.get(i)
  }
}

const KEY = 0
const VALUE = 1
const NEXT = 2

/**
 * A map in native code: an `ffi.Map`, or an `ffi.Dict`, which can change. Text is looked up by content, numbers by type and
 * value, objects by identity. A Map of JavaScript that is passed to a function becomes an `ffi.Map`.
 *
 * @example
 * const map = getGlobal('ffi.Map')('a', 1) as NativeMap
 * map.get('a') // 1
 */
export class NativeMap extends NativeContainer {
  static {
    registerClass(this, TypeIndex.Map, TypeIndex.Dict)
  }

  has(key: Argument): boolean {
    return this.ask('Count', key) === 1
  }

  /** The value of a key. @throws {PackedFuncError} of kind `KeyError` if there is none. */
  get(key: Argument): Value {
    return this.ask('GetItem', key)
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
    const iterator = this.ask('ForwardIterFunctor') as PackedFunc
    try {
      do {
        yield [convertKey(iterator(KEY)), convert(iterator(VALUE))]
      } while (iterator(NEXT) === true)
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
}

/** A shape in native code: a list of whole numbers. Made by {@link shape}. */
export class NativeShape extends NativeObject {
  static {
    registerClass(this, TypeIndex.Shape)
  }

  /** The sizes, as bigints where a number would not be exact. */
  toArray(): (number | bigint)[] {
    const stack = openStack()
    const { size, offsets } = LAYOUTS.TVMFFIShapeCell
    const cell = stack.copyOf(this.checkAlive() + LAYOUTS.TVMFFIObject.size, size)
    const count = Number(cell.readBigUInt64LE(offsets.size))
    const sizes = stack.copyOf(Number(cell.readBigUInt64LE(offsets.data)), count * 8)
    return Array.from({ length: count }, (_, i) => {
      const value = sizes.readBigInt64LE(i * 8)
      return Number.isSafeInteger(Number(value)) ? Number(value) : value
    })
  }
}

/**
 * Makes a shape, for functions that take one.
 *
 * @throws {PackedFuncError} of kind `ValueError` if a size is not a whole number.
 * @example
 * shape([2, 3]).toArray() // [2, 3]
 */
export function shape(sizes: readonly (number | bigint)[]): NativeShape {
  if (!Array.isArray(sizes)) throw wrongType('sizes', 'an array of whole numbers', sizes)
  return builtin('ffi.Shape')(...sizes) as NativeShape
}

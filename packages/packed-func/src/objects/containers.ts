import { LAYOUTS, wrongType, wrongValue } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { builtin } from '../functions/registry.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Argument, Value } from '../values/argument.ts'
import { bindClass, NativeObject, openCell, typeKeyOf } from './native-object.ts'

/** Returns an index as an integer: -0 is a floating-point number for packed functions. */
const indexOf = (index: number): number => (Object.is(index, -0) ? 0 : index)

type Question = 'Size' | 'Count' | 'GetItem' | 'ForwardIterFunctor'
type Change = 'Size' | 'Count' | 'SetItem' | 'Append' | 'Insert' | 'Pop' | 'Erase' | 'Clear'

/** A container in native code, which functions of tvm-ffi read. */
abstract class NativeContainer extends NativeObject {
  /** The number of elements or entries. */
  get size(): number {
    return this.ask('Size') as number
  }

  /** @internal calls a function of tvm-ffi for containers of this type, such as `ffi.ArrayGetItem` */
  ask(what: Question, ...values: Argument[]): Value {
    return builtin(`${this.typeKey}${what}`)(this, ...values)
  }

  /** @internal calls a function that changes the container. @throws {PackedFuncTypeError} if it is of a type that cannot change */
  change(type: number, what: Change, ...values: Argument[]): Value {
    const { typeKey } = this
    if (this.typeIndex !== type) {
      throw new PackedFuncTypeError('TypeError', `an ${typeKey} cannot change`, {
        hint: `Make an ${typeKeyOf(type)} of it.`,
        details: { expected: typeKeyOf(type), received: typeKey },
      })
    }
    return builtin(`${typeKey}${what}`)(this, ...values)
  }
}

/**
 * An array in native code: an `ffi.Array`, or an `ffi.List`, which can change. Reading an element converts it to a value of
 * JavaScript. An array of JavaScript that is passed to a function becomes an `ffi.Array`.
 *
 * @example
 * for (const item of array) console.log(item)
 */
export class NativeArray<Item = Value> extends NativeContainer {
  static {
    bindClass(this, TypeIndex.Array, TypeIndex.List)
  }

  static override readonly typeKey: string = 'ffi.Array'

  /** The element at an index from 0. @throws {PackedFuncError} of kind `IndexError`, a RangeError, if there is none. */
  get(index: number): Item {
    return this.ask('GetItem', indexOf(index)) as Item
  }

  toArray(): Item[] {
    return Array.from({ length: this.size }, (_, i) => this.get(i))
  }

  *[Symbol.iterator](): Generator<Item> {
    for (let i = 0; i < this.size; i++) yield this.get(i)
  }

  /**
   * Replaces the element at an index from 0 of an `ffi.List`.
   *
   * @throws {PackedFuncError} of kind `IndexError`, a RangeError, if there is none. @throws {PackedFuncTypeError} for an `ffi.Array`,
   * which cannot change.
   * @example
   * list.set(0, 5)
   */
  set(index: number, value: Argument): this {
    this.change(TypeIndex.List, 'SetItem', indexOf(index), value)
    return this
  }

  /**
   * Appends elements to an `ffi.List`. @returns the new size. @throws {PackedFuncTypeError} for an `ffi.Array`, which cannot change.
   *
   * @example
   * list.push(3) // 3
   */
  push(...values: Argument[]): number {
    if (values.length === 0) this.change(TypeIndex.List, 'Size')
    for (const value of values) this.change(TypeIndex.List, 'Append', value)
    return this.size
  }

  /**
   * Removes the last element of an `ffi.List`. @returns the element, or undefined if there is none. @throws {PackedFuncTypeError} for
   * an `ffi.Array`, which cannot change.
   *
   * @example
   * list.pop() // 2
   */
  pop(): Item | undefined {
    const size = this.change(TypeIndex.List, 'Size') as number
    return size === 0 ? undefined : (this.change(TypeIndex.List, 'Pop', size - 1) as Item)
  }

  /**
   * Inserts an element into an `ffi.List`, before the one at an index, or at the end if the index is the size.
   *
   * @throws {ArgumentRangeError} if the index is not from 0 to the size. @throws {PackedFuncTypeError} for an `ffi.Array`, which
   * cannot change.
   * @example
   * list.insert(0, 'first')
   */
  insert(index: number, value: Argument): void {
    const size = this.change(TypeIndex.List, 'Size') as number
    // The library of tvm-ffi does not check it.
    if (!Number.isInteger(index) || index < 0 || index > size)
      throw wrongValue('index', `a whole number from 0 to ${size}`, index)
    this.change(TypeIndex.List, 'Insert', indexOf(index), value)
  }

  /** Removes all elements of an `ffi.List`. @throws {PackedFuncTypeError} for an `ffi.Array`, which cannot change. */
  clear(): void {
    this.change(TypeIndex.List, 'Clear')
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
export class NativeMap<Key = Value, Item = Value> extends NativeContainer {
  static {
    bindClass(this, TypeIndex.Map, TypeIndex.Dict)
  }

  static override readonly typeKey: string = 'ffi.Map'

  has(key: Argument): boolean {
    return this.ask('Count', key) === 1
  }

  /** The value of a key. @throws {PackedFuncError} of kind `KeyError` if there is none. */
  get(key: Argument): Item {
    return this.ask('GetItem', key) as Item
  }

  /**
   * Sets the value of a key of an `ffi.Dict`. @throws {PackedFuncTypeError} for an `ffi.Map`, which cannot change.
   *
   * @example
   * const dict = getGlobal('ffi.Dict')() as NativeMap
   * dict.set('a', 1).get('a') // 1
   */
  set(key: Argument, value: Argument): this {
    this.change(TypeIndex.Dict, 'SetItem', key, value)
    return this
  }

  /**
   * Removes a key of an `ffi.Dict`. @returns whether there was one. @throws {PackedFuncTypeError} for an `ffi.Map`, which cannot
   * change.
   */
  delete(key: Argument): boolean {
    const isThere = this.change(TypeIndex.Dict, 'Count', key) === 1
    if (isThere) this.change(TypeIndex.Dict, 'Erase', key)
    return isThere
  }

  /** Removes all entries of an `ffi.Dict`. @throws {PackedFuncTypeError} for an `ffi.Map`, which cannot change. */
  clear(): void {
    this.change(TypeIndex.Dict, 'Clear')
  }

  /** The entries in order of insertion. */
  entries(): Generator<[key: Key, value: Item]> {
    return this.readEntries(
      (key) => key as Key,
      (value) => value as Item,
    )
  }

  /** @internal the entries as `convert` reads their keys and values, right after the calls that return them */
  *readEntries<ReadKey, ReadItem>(
    convertKey: (value: Value) => ReadKey,
    convert: (value: Value) => ReadItem,
  ): Generator<[key: ReadKey, value: ReadItem]> {
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

  toMap(): Map<Key, Item> {
    return new Map(this.entries())
  }

  [Symbol.iterator](): Generator<[key: Key, value: Item]> {
    return this.entries()
  }
}

/** A shape in native code: a list of whole numbers. Made by {@link shape}. */
export class NativeShape extends NativeObject {
  static {
    bindClass(this, TypeIndex.Shape)
  }

  static override readonly typeKey: string = 'ffi.Shape'

  /** The sizes, as bigints where a number would not be exact. */
  toArray(): (number | bigint)[] {
    const { handle, typeIndex } = openCell(this)
    if (typeIndex !== TypeIndex.Shape) throw wrongType('the object', 'a shape', this)
    const stack = openStack()
    const { size, offsets } = LAYOUTS.TVMFFIShapeCell
    const cell = stack.copyOf(handle + LAYOUTS.TVMFFIObject.size, size)
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

import type { TypedArray } from '@tenon/core'
import type { HeaderReader } from './header-reader.ts'

/**
 * A value of the metadata. Integers of 64 bits are bigints, and arrays of numbers are TypedArrays. Bytes of a text that are not UTF-8 are replaced.
 */
export type GgufValue = number | bigint | boolean | string | TypedArray | readonly GgufValue[]

/** The most levels of arrays in arrays. */
const MOST_LEVELS = 4

/** The most values that are neither texts nor numbers of an array, over all arrays of a file. */
const MOST_VALUES = 2 ** 22

interface NumberType {
  readonly byteSize: number
  readonly array: new (buffer: ArrayBuffer) => TypedArray
}

/** The numbers of the types of values that are numbers. */
const numberTypes = new Map<number, NumberType>([
  [0, { byteSize: 1, array: Uint8Array }],
  [1, { byteSize: 1, array: Int8Array }],
  [2, { byteSize: 2, array: Uint16Array }],
  [3, { byteSize: 2, array: Int16Array }],
  [4, { byteSize: 4, array: Uint32Array }],
  [5, { byteSize: 4, array: Int32Array }],
  [6, { byteSize: 4, array: Float32Array }],
  [10, { byteSize: 8, array: BigUint64Array }],
  [11, { byteSize: 8, array: BigInt64Array }],
  [12, { byteSize: 8, array: Float64Array }],
])

const BOOL = 7
const STRING = 8
const ARRAY = 9

/** The number of the type whose value is the alignment of tensors. */
export const UINT32 = 4

/** Reads the values of one file. */
export class ValueReader {
  readonly #reader: HeaderReader
  #values = 0

  constructor(reader: HeaderReader) {
    this.#reader = reader
  }

  /** Reads a value of a type. */
  read(type: number, what: string, level: number = 0): GgufValue {
    const numbers = numberTypes.get(type)
    if (numbers !== undefined) return this.#numbers(numbers, 1, what)[0]!
    if (type === BOOL) return this.#bools(1, what)[0]!
    if (type === STRING) return this.#reader.text(what)
    if (type === ARRAY) return this.#array(what, level)
    throw this.#error(-4, `${what} has an unknown type of value, ${type}`)
  }

  #array(what: string, level: number): GgufValue {
    const reader = this.#reader
    if (level === MOST_LEVELS) throw this.#error(0, `${what} nests more than ${MOST_LEVELS} levels of arrays`)
    const type = reader.uint32(`the type of the elements of ${what}`)
    const numbers = numberTypes.get(type)
    const count = reader.count(
      `the length of ${what}`,
      numbers?.byteSize ?? (type === BOOL ? 1 : type === STRING ? 8 : 12),
    )
    if (numbers !== undefined) return this.#numbers(numbers, count, what)
    if (type === BOOL) return this.#bools(count, what)
    if (type !== STRING && type !== ARRAY) throw this.#error(-12, `${what} has elements of an unknown type, ${type}`)
    if (type === ARRAY) this.#spend(count, what)
    const values: GgufValue[] = []
    for (let i = 0; i < count; i++) values.push(type === STRING ? reader.text(what) : this.#array(what, level + 1))
    return values
  }

  /** Numbers of a file are little-endian, and so are the processors on which Tenon runs. */
  #numbers({ byteSize, array: Numbers }: NumberType, count: number, what: string): TypedArray {
    const bytes = this.#reader.bytes(byteSize * count, what)
    return new Numbers(Uint8Array.prototype.slice.call(bytes).buffer as ArrayBuffer)
  }

  #bools(count: number, what: string): readonly boolean[] {
    this.#spend(count, what)
    return Array.from(this.#reader.bytes(count, what), (byte, i) => {
      if (byte > 1) throw this.#error(i - count, `${what} should have booleans of 0 or 1, but has ${byte}`)
      return byte === 1
    })
  }

  #spend(count: number, what: string): void {
    this.#values += count
    if (this.#values > MOST_VALUES)
      throw this.#error(0, `${what} has too many values: a file has at most ${MOST_VALUES} booleans and arrays`)
  }

  #error(distance: number, reason: string): Error {
    return this.#reader.file.error(this.#reader.position + distance, reason)
  }
}

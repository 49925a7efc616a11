/* oxlint-disable typescript/no-unsafe-declaration-merging */
import {
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  TenonError,
  type NestedArray,
  type StringDescription,
  type tensorSymbol,
} from '@tenon/core'
import {
  checkOptions,
  checkSize,
  checkUsable,
  describe,
  expose,
  inspectAsText,
  nest,
  runtime,
} from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { closedError, type Image } from '../image/image.ts'
import { readerOf } from '../image/reader-of.ts'
import type { Reader } from '../image/reader.ts'
import { StructReader } from '../image/struct-reader.ts'
import { compare, find, findInvalidUtf8, hash } from '../kernels/kernels.ts'
import { typeName, type Layout, type StringType } from '../layouts/layout.ts'
import { decodeLocated, type InvalidText, policyIn, policyOf, type TextOptions } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { gather, toArrow, type ArrowUtf8 } from './arrow.ts'
import { toArrowView, type ArrowUtf8View } from './arrow-view.ts'
import { encodePacked } from './encode-packed.ts'
import { slicedStrings } from './sliced.ts'
import { validityOptions, type ValidityOptions } from './validity.ts'

/** Options of `toArray`. */
export interface ToArrayOptions extends TextOptions {
  /**
   * Decodes about 1000 ASCII elements at once and cuts the strings out; by default false. Each piece of 13 characters or more
   * keeps the large string alive from which it was cut. Use it only for results that are soon dropped as a whole, and only
   * where it is measurably faster. Among elements that are not ASCII, each is decoded alone.
   */
  readonly slices?: boolean
}

const SHOWN = 4

const notCloneable = Symbol(
  'a string tensor belongs to its thread; post the bytes of a packed copy, or toArray(), instead',
)

/** Whether a value was made by the constructor of this class. An object with its prototype could name any memory. */
let isElements: (value: unknown) => value is StringElements

/**
 * The elements of a string tensor. They are bytes; a JavaScript string is made only when it is asked for. Indices are
 * row-major.
 */
export abstract class StringElements {
  static {
    inspectAsText(this)
    isElements = (value): value is StringElements => typeof value === 'object' && value !== null && #located in value
  }

  /** @internal A symbol makes structured clone fail. Its text is the message, so this field must be the first one. */
  declare readonly notCloneable: symbol
  /** @internal */
  declare image: Image & { readonly layout: Layout }
  /** The reader, which is made when it is first used. */
  declare private known: Reader | undefined

  /** @internal */
  constructor(image: Image & { readonly layout: Layout }) {
    this.notCloneable = notCloneable
    this.adopt(image)
  }

  /** @internal */
  adopt(image: Image & { readonly layout: Layout }): void {
    this.image = image
    this.known = undefined
  }

  /** @internal The caller has checked that the memory is alive. */
  get reader(): Reader {
    return (this.known ??= readerOf(this.image))
  }

  /** The size along each axis. */
  abstract get shape(): readonly number[]

  /** The number of strings. */
  get length(): number {
    return this.image.count
  }

  /**
   * Returns one string.
   *
   * @throws {BoundsError} if the index is not below the length. @throws {ScopeClosedError} if the memory is closed.
   * @throws {MalformedTensorError} if the element leads outside of the tensor.
   * @throws {InvalidTextError} according to the policy.
   * @example
   * StringTensor.from(['a', 'b']).get(1) // 'b'
   */
  get(index: number, options?: TextOptions): string {
    // The options are read first, because a getter among them can close the memory.
    const policy = policyIn(options)
    return decodeLocated(this.locate(index), index, policy)
  }

  /**
   * Returns the bytes of one string: a view, not a copy, that ends with the memory. Writing the view writes the tensor. Bytes
   * of read-only memory and of blocks of malloc are copied.
   *
   * @throws as {@link get}
   */
  bytes(index: number): Uint8Array {
    const reader = this.locate(index)
    const { image } = this
    const isReadOnly = image.table.readOnly || image.data.readOnly
    if (!isReadOnly) expose(reader.block)
    const view = reader.view()
    return isReadOnly ? view.slice() : view
  }

  /** Returns the number of bytes of one string. @throws as {@link get} */
  byteLength(index: number): number {
    const { known } = this
    this.checkIndex(index)
    if (known instanceof StructReader) return known.sizeOf(index)
    const { reader } = this
    if (reader instanceof StructReader) return reader.sizeOf(index)
    reader.locate(index)
    return reader.size
  }

  /** Returns the type of one string's struct, or undefined for `legacy` and `tflite`. @throws as {@link get} */
  type(index: number): StringType | undefined {
    this.checkIndex(index)
    const { reader } = this
    return reader instanceof StructReader ? typeName(reader.layout, reader.typeOf(index)) : undefined
  }

  /** Whether one string has exactly these bytes, or the UTF-8 of this string. @throws as {@link get} */
  equals(index: number, value: Text): boolean {
    const bytes = encodeText(value, 'replace', 'value')
    const { block, start, size } = this.locate(index)
    if (size !== bytes.length || size === 0) return size === bytes.length
    if (!runtime.comparesRanges) return block.bytes.subarray(start, start + size).equals(bytes)
    return block.bytes.compare(bytes, 0, size, start, start + size) === 0
  }

  /**
   * Returns the order of two strings by their unsigned bytes, with the shorter first: -1, 0 or 1.
   *
   * @param other the index of another element, or a value.
   * @throws as {@link get}
   */
  compare(index: number, other: number | Text): -1 | 0 | 1 {
    const right = typeof other === 'number' ? this.#located(other) : encodeText(other, 'replace', 'other')
    return Buffer.compare(this.#located(index), right)
  }

  /**
   * Returns the order of every string against the string at the same index of another tensor, or against one value.
   *
   * @throws {ArgumentError} if the other tensor has another length.
   */
  compareAll(other: StringElements | Text): Int8Array {
    if (!isElements(other)) {
      return compare(this.image, encodePacked([encodeText(other, 'replace', 'other')], 'replace'))
    }
    if (other.length === this.length) return compare(this.image, other.image)
    throw new ArgumentError(`other must have ${this.length} strings, got ${other.length}`, {
      details: { name: 'other', expected: this.length, received: other.length },
    })
  }

  /** Returns the first index from `from` on with exactly these bytes, or the UTF-8 of this string; otherwise -1. */
  indexOf(value: Text, from = 0): number {
    const bytes = encodeText(value, 'replace', 'value')
    return this.#indexOrNone(find(this.image, bytes, checkSize(from, 'from', 'elements')))
  }

  /** Returns the first index from `from` on whose bytes are not valid UTF-8; otherwise -1. */
  indexOfInvalid(from = 0): number {
    return this.#indexOrNone(findInvalidUtf8(this.image, checkSize(from, 'from', 'elements')))
  }

  /**
   * Returns the XXH32 of one string's bytes, which is the same on every machine. {@link hashes} is faster for many strings.
   *
   * @throws as {@link get}
   */
  hash(index: number, seed = 0): number {
    return hash(encodePacked([this.#located(index)], 'replace'), checkSeed(seed))[0]!
  }

  /** Returns the {@link hash} of every string, in one call into C. */
  hashes(seed = 0): Uint32Array {
    return hash(this.image, checkSeed(seed))
  }

  /** Returns all strings. @throws as {@link get} */
  toArray(options?: ToArrayOptions): string[] {
    let policy: InvalidText = 'replace'
    if (options !== undefined) {
      const { invalid, slices } = checkOptions(options, ['invalid', 'slices'])
      policy = policyOf(invalid)
      if (slices && policy === 'replace') return slicedStrings(this.image)
    }
    const reader = this.#gathered()
    const { length } = this
    const strings = new Array<string>(length)
    for (let i = 0; i < length; i++) {
      reader.locate(i)
      strings[i] = decodeLocated(reader, i, policy)
    }
    return strings
  }

  /**
   * Returns the strings for Arrow. The data is not copied if the strings lie in order: in `tflite`, in packed tensors without
   * inline strings, and in tensors that came from Arrow. The offsets are copied and checked.
   *
   * @param options `large` for LargeUtf8, with offsets of 64 bits; `validity` to write nulls.
   * @throws {TensorLimitError} if Utf8 cannot hold the strings.
   */
  toArrowUtf8(options?: ValidityOptions & { readonly large?: boolean }): ArrowUtf8 {
    const { large = false, validity, validityOffset } = checkOptions(options, ['large', ...validityOptions])
    return toArrow(this.image, large, { validity, validityOffset })
  }

  /** Returns the strings for Arrow's Utf8View. The data is not copied if {@link toArrowUtf8} does not copy it. @throws as there */
  toArrowUtf8View(options?: ValidityOptions): ArrowUtf8View {
    const { validity, validityOffset } = checkOptions(options, validityOptions)
    return toArrowView(this.image, { validity, validityOffset })
  }

  *[Symbol.iterator](): Generator<string, void, undefined> {
    for (let i = 0; i < this.length; i++) yield this.get(i)
  }

  /** Yields the indices and strings. */
  *entries(): Generator<[index: number, text: string], void, undefined> {
    for (let i = 0; i < this.length; i++) yield [i, this.get(i)]
  }

  /** Yields the strings in batches of `size`. The last batch may be shorter. @throws {ArgumentRangeError} if `size` is 0. */
  chunks(size: number): Generator<string[], void, undefined> {
    if (checkSize(size, 'size', 'elements') > 0) return this.#chunks(size)
    throw new ArgumentRangeError('size must be at least one element, got 0', {
      details: { name: 'size', expected: 'at least one element', received: 0 },
    })
  }

  *#chunks(size: number): Generator<string[], void, undefined> {
    for (let first = 0; first < this.length; first += size) {
      yield Array.from({ length: Math.min(size, this.length - first) }, (_, i) => this.get(first + i))
    }
  }

  /** One line for people: the layout, the shape and the first strings, or the reason why they cannot be read. */
  toString(): string {
    return `${this.#head()} ${this.#preview()}`
  }

  #head(): string {
    return `StringTensor ${this.image.layout}[${this.shape.join(', ')}]`
  }

  /** All strings as nested arrays, one level for each axis, for `JSON.stringify`. Invalid UTF-8 is replaced. @throws as {@link get} */
  toJSON(): NestedArray<string> {
    const { shape, length: elementCount } = this
    const strings = this.toArray()
    return nest({ shape, elementCount, strides: undefined, toString: () => this.#head() }, (index) => strings[index]!)
  }

  #preview(): string {
    try {
      const shown = Array.from({ length: Math.min(this.length, SHOWN) }, (_, i) => describe(this.get(i)))
      if (this.length > SHOWN) shown.push(`... ${this.length - SHOWN} more`)
      return `[${shown.join(', ')}]`
    } catch (error) {
      return `(${error instanceof TenonError ? error.sentence : 'the strings cannot be read'})`
    }
  }

  /** @internal Checks that an element exists and its memory is alive, and returns the reader, which points at the element. */
  locate(index: number): Reader {
    this.checkIndex(index)
    const { reader } = this
    reader.locate(index)
    return reader
  }

  /** @internal */
  checkIndex(index: number): void {
    const { count, table, data, owner } = this.image
    if (!(typeof index === 'number' && index >>> 0 === index && index < count)) throw indexError(index, count)
    const head = table.block
    const body = data.block
    // A buffer that was transferred away is empty. Asking whether it is detached costs more.
    const isThere = head.bytes.length > 0 && body.bytes.length > 0
    if (!isThere || !head.gate.alive || !body.gate.alive || owner?.isClosed) this.checkAlive()
  }

  /** @internal */
  checkAlive(): void {
    const { table, data, owner } = this.image
    if (owner?.isClosed) throw closedError()
    checkUsable(table.block)
    checkUsable(data.block)
  }

  #indexOrNone(index: number): number {
    return index >= this.length ? -1 : index
  }

  /** Returns a view of an element's bytes that callers must not keep. */
  #located(index: number): Uint8Array {
    const { block, start, size } = this.locate(index)
    return block.bytes.subarray(start, start + size)
  }

  /** Returns a reader for all elements. Strings in blocks of malloc are copied first, because fetching each costs more. */
  #gathered(): Reader {
    this.checkAlive()
    const { image } = this
    if (!image.foreign) return this.reader
    const { offsets, data } = gather(image, true)
    return readerOf({ ...image, layout: 'arrow64', table: offsets, data, regions: undefined, foreign: false })
  }
}

function indexError(index: unknown, count: number): TenonError {
  if (typeof index !== 'number') return argumentError('index', 'a number', index)
  return new BoundsError(`index must be a whole number below ${count}, got ${describe(index)}`, {
    details: { index, length: count },
  })
}

function checkSeed(seed: number): number {
  if (typeof seed === 'number' && seed >>> 0 === seed) return seed
  throw argumentError('seed', 'a whole number below 2^32', seed)
}

export interface StringElements {
  /** Offers the strings to other libraries in the form of Arrow. Those in another order are copied. @throws {ScopeClosedError} */
  readonly [tensorSymbol]: () => StringDescription
}

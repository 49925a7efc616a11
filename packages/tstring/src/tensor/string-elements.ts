import { ArgumentError, ArgumentRangeError, BoundsError } from '@tenon/core'
import { checkSize, checkUsable, describe } from '@tenon/core/internal'
import type { Image } from '../image/image.ts'
import { readerOf } from '../image/reader-of.ts'
import type { Reader } from '../image/reader.ts'
import { StructReader } from '../image/struct-reader.ts'
import { compare, find, findInvalidUtf8, hash } from '../kernels/native.ts'
import { typeName, type Layout, type StringType } from '../layouts/layout.ts'
import { checkPolicy, decodeLocated, type InvalidText } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import type { FastBuffer } from '../text/fast-buffer.ts'
import { gather } from './arrow.ts'
import { encodePacked } from './encode-packed.ts'
import { slicedStrings } from './sliced.ts'

/** How strings are made of bytes. */
export interface TextOptions {
  /** What becomes of bytes that are no valid UTF-8; `replace` without it. */
  readonly invalid?: InvalidText
}

/** How all strings are made at once. */
export interface ToArrayOptions extends TextOptions {
  /**
   * Decodes about 1000 ASCII elements at once and cuts the strings out. Every piece of 13 characters or more then keeps the
   * large string that it was cut from alive: only for results that are soon dropped as a whole, and only if it is quicker
   * where it runs. Elements among others that are not ASCII are decoded one by one.
   */
  readonly slices?: boolean
}

/**
 * Reading the elements of a string tensor. They are bytes; a JavaScript string is made when one is asked for. Indices are
 * row-major.
 */
export abstract class StringElements {
  /** @internal */
  declare image: Image & { readonly layout: Layout }
  /** @internal */
  declare reader: Reader

  /** @internal */
  constructor(image: Image & { readonly layout: Layout }) {
    this.adopt(image)
  }

  /** @internal */
  adopt(image: Image & { readonly layout: Layout }): void {
    this.image = image
    this.reader = readerOf(image)
  }

  /** How many strings there are. */
  get length(): number {
    return this.image.count
  }

  /**
   * One string.
   *
   * @throws {BoundsError} if there is no such element. @throws {ScopeClosedError} if the memory is dead.
   * @throws {MalformedTensorError} if the element leads outside of the tensor. @throws {InvalidTextError} as the policy says.
   * @example
   * StringTensor.from(['a', 'b']).get(1) // 'b'
   */
  get(index: number, options?: TextOptions): string {
    const { reader } = this
    this.locate(index)
    if (options?.invalid === undefined) {
      return (reader.block.bytes as FastBuffer).utf8Slice(reader.start, reader.start + reader.size)
    }
    return decodeLocated(reader, index, checkPolicy(options.invalid))
  }

  /**
   * The bytes of one string: a view, not a copy, that ends with the memory. Of read-only memory and of blocks of malloc
   * it is a copy. Writing through it writes the tensor.
   *
   * @throws as {@link get}
   */
  bytes(index: number): Uint8Array {
    const { reader, image } = this
    this.locate(index)
    const isReadOnly = image.table.readOnly || image.data.readOnly
    if (!isReadOnly) reader.block.exposed = true
    const view = reader.view()
    return isReadOnly ? view.slice() : view
  }

  /** The bytes of one string, counted. @throws as {@link get} */
  byteLength(index: number): number {
    const { reader } = this
    if (!(reader instanceof StructReader)) {
      this.locate(index)
      return reader.size
    }
    this.checkIndex(index)
    return reader.sizeOf(index)
  }

  /** How one string lies in its struct; undefined for `legacy` and `tflite`, which have none. @throws as {@link get} */
  type(index: number): StringType | undefined {
    this.checkIndex(index)
    const { reader } = this
    return reader instanceof StructReader ? typeName(reader.layout, reader.typeOf(index)) : undefined
  }

  /** Whether one string has exactly these bytes, or those of this string. No string is made. @throws as {@link get} */
  equals(index: number, value: Text): boolean {
    const bytes = encodeText(value, 'replace', 'value')
    this.locate(index)
    const { block, start, size } = this.reader
    return size === bytes.length && (size === 0 || block.bytes.compare(bytes, 0, size, start, start + size) === 0)
  }

  /**
   * The order of two strings by their bytes, unsigned, the shorter first: -1, 0 or 1.
   *
   * @param other another element's index, or what to compare with.
   * @throws as {@link get}
   */
  compare(index: number, other: number | Text): -1 | 0 | 1 {
    const right = typeof other === 'number' ? this.#located(other) : encodeText(other, 'replace', 'other')
    return Buffer.compare(this.#located(index), right)
  }

  /**
   * The order of every string against that at the same place of another tensor, or against one value.
   *
   * @throws {ArgumentError} if the other tensor has another length.
   */
  compareAll(other: StringElements | Text): Int8Array {
    if (!(other instanceof StringElements))
      return compare(this.image, encodePacked([encodeText(other, 'replace', 'other')], 'replace'))
    if (other.length === this.length) return compare(this.image, other.image)
    throw new ArgumentError(`the other tensor must have ${this.length} strings as well, it has ${other.length}`)
  }

  /** The first element from `from` on with exactly these bytes, or those of this string; -1 if none has. */
  indexOf(value: Text, from = 0): number {
    const index = find(this.image, encodeText(value, 'replace', 'value'), checkSize(from, 'from', 'elements'))
    return index >= this.length ? -1 : index
  }

  /** The first element from `from` on that is not valid UTF-8; -1 if all are. */
  indexOfInvalid(from = 0): number {
    const index = findInvalidUtf8(this.image, checkSize(from, 'from', 'elements'))
    return index >= this.length ? -1 : index
  }

  /** XXH32 of one string's bytes: the same number on every machine. @throws as {@link get} */
  hash(index: number, seed = 0): number {
    return hash(encodePacked([this.#located(index)], 'replace'), checkSeed(seed))[0]!
  }

  /** {@link hash} of every string. */
  hashes(seed = 0): Uint32Array {
    return hash(this.image, checkSeed(seed))
  }

  /**
   * All strings.
   *
   * @throws as {@link get}
   */
  toArray(options: ToArrayOptions = {}): string[] {
    const policy = checkPolicy(options.invalid ?? 'replace')
    if (options.slices && policy === 'replace') return slicedStrings(this.image)
    const reader = this.#gathered()
    const { length } = this
    const strings = new Array<string>(length)
    if (policy === 'replace') {
      for (let i = 0; i < length; i++) {
        reader.locate(i)
        strings[i] = (reader.block.bytes as FastBuffer).utf8Slice(reader.start, reader.start + reader.size)
      }
      return strings
    }
    for (let i = 0; i < length; i++) {
      reader.locate(i)
      strings[i] = decodeLocated(reader, i, policy)
    }
    return strings
  }

  *[Symbol.iterator](): Generator<string, void, undefined> {
    for (let i = 0; i < this.length; i++) yield this.get(i)
  }

  /** Indices and strings. */
  *entries(): Generator<[index: number, text: string], void, undefined> {
    for (let i = 0; i < this.length; i++) yield [i, this.get(i)]
  }

  /** The strings in arrays of `size`, the last one shorter: what fits into a batch. @throws {ArgumentRangeError} */
  chunks(size: number): Generator<string[], void, undefined> {
    if (checkSize(size, 'size', 'elements') === 0)
      throw new ArgumentRangeError('size must be at least one element, got 0')
    return this.#chunks(size)
  }

  *#chunks(size: number): Generator<string[], void, undefined> {
    for (let first = 0; first < this.length; first += size) {
      yield Array.from({ length: Math.min(size, this.length - first) }, (_, i) => this.get(first + i))
    }
  }

  /** @internal points the reader at an element, after checking that it exists and its memory lives */
  locate(index: number): void {
    this.checkIndex(index)
    this.reader.locate(index)
  }

  /** @internal */
  checkIndex(index: number): void {
    const { count, table, data } = this.image
    if (!(index >>> 0 === index && index < count)) throw boundsError(index, count)
    const head = table.block
    const body = data.block
    // A buffer that was transferred away is empty. Asking whether it is detached costs more.
    const isThere = head.bytes.length > 0 && body.bytes.length > 0
    if (!isThere || !head.gate.alive || !body.gate.alive) this.checkAlive()
  }

  /** @internal */
  checkAlive(): void {
    checkUsable(this.image.table.block)
    checkUsable(this.image.data.block)
  }

  /** The bytes of an element, for a moment: nobody else gets to see this view. */
  #located(index: number): Uint8Array {
    this.locate(index)
    const { block, start, size } = this.reader
    return block.bytes.subarray(start, start + size)
  }

  /** A reader for all elements: of a copy, if each would have to be fetched from blocks of malloc. */
  #gathered(): Reader {
    this.checkAlive()
    const { image } = this
    if (!image.foreign) return this.reader
    const { offsets, data } = gather(image, true)
    return readerOf({ ...image, layout: 'arrow64', table: offsets, data, regions: undefined, foreign: false })
  }
}

function boundsError(index: unknown, count: number): BoundsError | ArgumentError {
  if (typeof index !== 'number') return new ArgumentError(`index must be a number, got ${describe(index)}`)
  return new BoundsError(`index must be a whole number below ${count}, got ${describe(index)}`, {
    details: { index, length: count },
  })
}

function checkSeed(seed: number): number {
  if (seed >>> 0 === seed) return seed
  throw new ArgumentError(`seed must be a whole number below 2^32, got ${describe(seed)}`)
}

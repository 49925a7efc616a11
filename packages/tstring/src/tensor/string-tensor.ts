import { ArgumentError, gcAllocator, ReadOnlyError, Segment, tensor, type Tensor } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import { rfcAssign, type RfcLayout } from '../element/rfc.ts'
import {
  tstringAppend,
  tstringAssign,
  tstringAssignView,
  tstringCopy,
  tstringMove,
  tstringReserve,
} from '../element/tstring.ts'
import type { Abi } from '../layouts/abi.ts'
import { structSize, type Layout, type StructLayout } from '../layouts/layout.ts'
import type { Arena } from '../memory/arena.ts'
import { checkWritable } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { checkPolicy } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { partsFromArrow, toArrow, type ArrowUtf8, type FromArrowOptions } from './arrow.ts'
import { convertTo, placementOf, type LayoutOptions } from './convert-to.ts'
import { partsOfFile, writeTensor, type MapOptions } from './file.ts'
import { partsFrom, type FromOptions } from './from.ts'
import { partsOver, type OverOptions } from './over.ts'
import type { Parts, Storage } from './parts.ts'
import { preallocated, type PreallocateOptions } from './preallocate.ts'
import { rangeOf, selectionOf, windowOf } from './select.ts'
import { canGrow, compact, placeError, setInArena, setInPlace, withArena } from './set-element.ts'
import { StringElements, type TextOptions } from './string-elements.ts'

/**
 * A tensor of strings in native memory, in one of five layouts. Strings are bytes there, and stay exactly what they are.
 *
 * The memory is the allocator's: a scope's tensor is dead when the scope is closed. Only `malloc` storage and a mapped
 * file belong to the tensor itself: `using` or {@link StringTensor[Symbol.dispose]} ends them.
 *
 * @example
 * const strings = StringTensor.from(['tensor', 'of', 'strings'])
 * strings.get(0) // 'tensor'
 * strings.indexOf('of') // 1
 * strings.to('tflite').segment.byteSize // 35
 */
export class StringTensor extends StringElements {
  #parts: Parts

  /** @internal */
  constructor(parts: Parts) {
    super(parts.image)
    this.#parts = parts
  }

  /**
   * Writes strings into memory of an allocator.
   *
   * @param strings each a string, or bytes to be taken as they are.
   * @throws {ArgumentError} if an element is neither, or the shape has another count. @throws {AllocationError}
   * @throws {TensorLimitError} if the layout can't hold them. @throws {InvalidTextError} as the policy says.
   * @example
   * StringTensor.from(['a', 'b', 'c', 'd'], { layout: 'tflite', shape: [2, 2] })
   */
  static from(strings: readonly Text[], options: FromOptions = {}): StringTensor {
    return new StringTensor(partsFrom(strings, options))
  }

  /**
   * Reads bytes that are there as a string tensor: nothing is copied, everything is checked first, no pointer is followed
   * (but see `validate: 'trusted'`).
   *
   * @throws {MalformedTensorError} naming element, rule and values. @throws {ScopeClosedError} if the memory is dead.
   * @throws {ArgumentError} if an option is not valid.
   * @example
   * StringTensor.over(segment, { layout: 'tflite' }).toArray()
   */
  static over(segment: Segment, options: OverOptions): StringTensor {
    return new StringTensor(partsOver(segment, options))
  }

  /**
   * Reads a file as a string tensor. Its table is copied and checked once; strings are read from the file when they are
   * asked for. Layout and shape come from the options or from what {@link export} wrote beside the file.
   *
   * @throws {MalformedTensorError} as {@link over}. @throws what the file system says.
   * @example
   * using strings = StringTensor.map('words.bin', { layout: 'tflite' })
   */
  static map(path: string, options: MapOptions = {}): StringTensor {
    return new StringTensor(partsOfFile(path, options))
  }

  /**
   * Takes Arrow's Utf8 or LargeUtf8 buffers. As `tf` in an arena (the default) the data is not copied: the tensor's VIEWs
   * name it, and keep it from being collected.
   *
   * @param offsets one more than there are strings.
   * @throws {MalformedTensorError} if an offset leads outside of the data.
   * @example
   * StringTensor.fromArrowUtf8(Buffer.from('hello'), Int32Array.of(0, 1, 5)).toArray() // ['h', 'ello']
   */
  static fromArrowUtf8(
    data: Uint8Array,
    offsets: Int32Array | BigInt64Array,
    options: FromArrowOptions = {},
  ): StringTensor {
    return new StringTensor(partsFromArrow(data, offsets, options))
  }

  /**
   * `count` empty strings that each have room for `capacity` bytes in one block: the RFC's PREALLOC, for buffers that are
   * filled again and again without an allocation.
   *
   * @example
   * const names = StringTensor.preallocate(32, 64, { layout: 'rfc24' })
   * names.set(0, 'first')
   */
  static preallocate(count: number, capacity: number, options: PreallocateOptions = {}): StringTensor {
    return new StringTensor(preallocated(count, capacity, options))
  }

  get shape(): readonly number[] {
    return this.#parts.shape
  }

  get layout(): Layout {
    return this.image.layout
  }

  get abi(): Abi {
    return this.image.abi
  }

  get storage(): Storage {
    return this.#parts.storage
  }

  /** What native code is given: the table of structs, or the whole tensor if it is packed. */
  get segment(): Segment {
    return this.#parts.segment
  }

  /** The bytes of {@link segment} as a tensor of `uint8`: what travels through calls. */
  tensor(): Tensor {
    return tensor('uint8', [this.segment.byteSize], this.segment)
  }

  /**
   * Gives an element another value. In place where it fits; else in the arena, where the old bytes are garbage until
   * {@link compact}; in `malloc` storage by the rules of the C library.
   *
   * @throws {ReadOnlyError} for `legacy`, `tflite` and tensors over foreign bytes that are not `writable`.
   * @throws {TensorLimitError} if it doesn't fit in place and the bytes are another machine's or from outside.
   * @throws {BoundsError} if there is no such element. @throws {AllocationError} @throws {InvalidTextError}
   */
  set(index: number, value: Text, options: TextOptions = {}): void {
    const bytes = encodeText(value, checkPolicy(options.invalid ?? 'replace'), 'value')
    const struct = this.#writableStruct(index)
    if (this.#parts.blocks !== undefined || this.image.foreign) {
      if (this.layout === 'tf') tstringCopy(struct, bytes)
      else rfcAssign(struct, this.layout as RfcLayout, bytes)
      return
    }
    if (setInPlace(this.#parts, index, bytes)) return
    if (!canGrow(this.#parts)) throw placeError(this.#parts, index, bytes)
    setInArena(this.#withArena(), index, bytes)
  }

  /** Part of the first axis, as `Array.prototype.slice` has it. Structs are shared, not copied; other layouts are copied. */
  slice(start?: number, end?: number): StringTensor {
    const range = rangeOf(this.shape, start, end)
    this.checkAlive()
    // Both can be set then, and each finds what the other was given.
    if (canGrow(this.#parts)) this.#withArena()
    return new StringTensor(windowOf(this.#parts, range) ?? this.#copied(range.indices(), range.shape, {}))
  }

  /**
   * The elements with these indices, in this order, copied into a tensor of the same layout.
   *
   * @throws {BoundsError} if there is no such element.
   */
  gather(indices: readonly number[] | Uint32Array, options: LayoutOptions = {}): StringTensor {
    const selection = selectionOf(indices, this.length)
    return new StringTensor(this.#copied(selection, Object.freeze([selection.length]), options))
  }

  /**
   * A copy in a layout.
   *
   * @throws {TensorLimitError} if the layout can't hold the strings; nothing was written then. @throws {AllocationError}
   * @example
   * StringTensor.from(['a']).to('legacy').segment.byteSize // 10
   */
  to(layout: Layout, options: LayoutOptions = {}): StringTensor {
    const placement = placementOf(layout, options)
    return new StringTensor(convertTo(this.image, undefined, this.shape, placement, options.allocator))
  }

  /**
   * Writes the tensor's bytes to a file, packed. Beside a path it writes `<path>.json`, which tells {@link map} the layout
   * and shape; an open file descriptor gets the bytes alone.
   */
  export(target: string | number): void {
    this.checkAlive()
    const { storage, image, isWindow = false, isLoose = false } = this.#parts
    const hasPointers = image.regions !== undefined && image.regions.segments.length > 0
    const isWhole = storage === 'packed' && !hasPointers && !isWindow && !isLoose
    const parts = isWhole ? this.#parts : this.#copied(undefined, this.shape, { storage: 'packed', abi: this.abi })
    writeTensor(parts, target)
  }

  /**
   * Moves the strings of the arena together; what {@link set} left behind goes back to the allocator's lifetime. Slices
   * stay what they are; what was preallocated has no room beyond its string then.
   *
   * @throws {ArgumentError} for a slice: its strings lie among those of the tensor that it was cut from.
   */
  compact(): void {
    checkWritable(this.image.table)
    const { arena, isWindow } = this.#parts
    if (isWindow)
      throw new ArgumentError('a slice has no strings of its own', { hint: 'compact what it was cut from.' })
    if (arena !== undefined) compact({ ...this.#parts, arena })
  }

  /**
   * The strings as Arrow has them. The data is not copied where the strings lie in order: `tflite`, packed tensors without
   * inline strings, and what came from Arrow.
   *
   * @param options `large` for LargeUtf8, with offsets of 64 bits.
   * @throws {TensorLimitError} if Utf8 can't hold them.
   */
  toArrowUtf8({ large = false }: { readonly large?: boolean } = {}): ArrowUtf8 {
    return toArrow(this.image, large)
  }

  /** Makes room for `capacity` bytes in one string. `malloc` storage of `tf` alone. @throws {AllocationError} */
  reserve(index: number, capacity: number): void {
    tstringReserve(this.#mallocStruct(index), checkSize(capacity, 'capacity'))
  }

  /** Adds to one string; its room doubles. `malloc` storage of `tf` alone. @throws {AllocationError} */
  append(index: number, value: Text): void {
    tstringAppend(this.#mallocStruct(index), value)
  }

  /** Makes one string what another tensor's is; views stay views. `malloc` storage of `tf` alone. */
  assign(index: number, source: StringTensor, sourceIndex: number): void {
    const struct = this.#mallocStruct(index)
    checkTensor(source)
    checkTf(source.layout)
    source.locate(sourceIndex)
    const { image, reader } = source
    if (image.foreign) {
      tstringAssign(struct, source.#struct(sourceIndex))
      this.#adoptRegions(source)
      return
    }
    // The struct may be from outside: C is given the bytes that the reader found, never its words.
    const { block, start, size } = reader
    if (source.type(sourceIndex) === 'small') {
      tstringCopy(struct, block.bytes.subarray(start, start + size))
      return
    }
    const bytes = size === 0 ? image.table.asSlice(0, 0) : new Segment(block, start, size, 0)
    tstringAssignView(struct, bytes)
    // The memory that the string lies in, not its part of it: strings that lie together need one entry.
    if (size > 0) this.image.regions?.add(image.regions?.find(startOf(bytes), size) ?? image.data)
  }

  /** Makes one string a view of bytes, which the tensor keeps from being collected. `malloc` storage of `tf` alone. */
  assignView(index: number, bytes: Segment): void {
    tstringAssignView(this.#mallocStruct(index), bytes)
    if (bytes.byteSize > 0) this.image.regions?.add(bytes)
  }

  /** Moves one string here from another tensor of `malloc` storage; a LARGE leaves an empty string there. */
  move(index: number, source: StringTensor, sourceIndex: number): void {
    const struct = this.#mallocStruct(index)
    checkTensor(source)
    tstringMove(struct, source.#mallocStruct(sourceIndex))
    this.#adoptRegions(source)
  }

  /** Leaves the blocks of `malloc` storage to whoever owns the table now: TensorFlow, once it has the tensor. */
  release(): void {
    if (!this.#parts.isWindow) this.#parts.blocks?.handOff()
  }

  /** Frees what the tensor itself owns: blocks of `malloc` storage, a mapped file. Idempotent; a slice owns nothing. */
  [Symbol.dispose](): void {
    if (!this.#parts.isWindow) this.#parts.blocks?.close()
    this.#parts.close?.()
  }

  #copied(selection: Uint32Array | undefined, shape: readonly number[], options: LayoutOptions): Parts {
    const { storage, allocator } = this.#parts
    const placement = placementOf(this.layout, { storage, abi: this.abi, ...options })
    return convertTo(
      this.image,
      selection,
      shape,
      placement,
      options.allocator ?? (selection ? allocator : gcAllocator),
    )
  }

  #withArena(): Parts & { readonly arena: Arena } {
    const parts = withArena(this.#parts)
    if (parts !== this.#parts) {
      this.#parts = parts
      this.adopt(parts.image)
    }
    return parts
  }

  /** The struct of an element that may be changed. */
  #writableStruct(index: number): Segment {
    this.checkIndex(index)
    if (!this.#parts.isWritable) {
      throw new ReadOnlyError(`the strings of this ${this.layout} tensor can't be set`, {
        hint: "make one that can be changed with to('tf'), or pass { writable: true } to over() if its layout has structs.",
      })
    }
    checkWritable(this.image.table)
    return this.#struct(index)
  }

  /** The struct of an element whose block is C's. */
  #mallocStruct(index: number): Segment {
    const struct = this.#writableStruct(index)
    checkTf(this.layout)
    if (this.#parts.blocks !== undefined) return struct
    throw new ArgumentError(`the tensor must have storage 'malloc', it has '${this.storage}'`, {
      hint: "make it with { storage: 'malloc' }; set() works with every storage.",
    })
  }

  #struct(index: number): Segment {
    const size = structSize(this.layout as StructLayout)
    return this.image.table.asSlice(index * size, size)
  }

  #adoptRegions(source: StringTensor): void {
    for (const segment of source.image.regions?.segments ?? []) this.image.regions?.add(segment)
  }
}

function checkTf(layout: Layout): void {
  if (layout !== 'tf') throw new ArgumentError(`the tensor must have the layout tf, it has ${layout}`)
}

function checkTensor(source: unknown): asserts source is StringTensor {
  if (!(source instanceof StringTensor))
    throw new ArgumentError(`source must be a string tensor, got ${describe(source)}`)
}

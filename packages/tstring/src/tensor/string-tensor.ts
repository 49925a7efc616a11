import { ArgumentError, gcAllocator, tensor, type Segment, type Tensor } from '@tenon/core'
import { checkOptions, checkSize } from '@tenon/core/internal'
import { rfcAssign } from '../element/rfc.ts'
import { tstringAppend, tstringAssignView, tstringCopy, tstringMove, tstringReserve } from '../element/tstring.ts'
import { argumentError } from '../errors/arguments.ts'
import { closedError } from '../image/image.ts'
import type { StructReader } from '../image/struct-reader.ts'
import type { Abi } from '../layouts/abi.ts'
import { isStructLayout, structSize, type Layout, type RfcLayout, type StructLayout } from '../layouts/layout.ts'
import type { Arena } from '../memory/arena.ts'
import { checkWritable } from '../memory/open.ts'
import { policyIn, type TextOptions } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { adoptRegions, assignElement } from './assign-element.ts'
import { announce } from './announce.ts'
import { partsOfArrow, type OfArrowOptions } from './arrow.ts'
import { partsOfViews } from './arrow-view.ts'
import { checkShareable } from './check-shareable.ts'
import { convertTo, layoutOptions, placementOf, type LayoutOptions } from './convert-to.ts'
import { isWhole, partsOfFile, writeTensor, type OpenOptions } from './file.ts'
import { partsFrom, type FromOptions } from './from.ts'
import { partsOfCapacity, type OfCapacityOptions } from './of-capacity.ts'
import { partsOfSegment, type OfSegmentOptions } from './of-segment.ts'
import type { Parts, Storage } from './parts.ts'
import { indicesOf, rangeOf, selectionOf, windowOf } from './select.ts'
import {
  canGrow,
  notSettable,
  setAscii,
  setLongText,
  setSameLength,
  checkTf,
  compact,
  placeError,
  refuseSlice,
  setInArena,
  setInPlace,
  withArena,
} from './set-element.ts'
import { StringElements } from './string-elements.ts'

/** Whether a value was made by the constructor of this class. An object with its prototype could name any memory. */
let isTensor: (value: unknown) => value is StringTensor

/**
 * A tensor of strings in native memory, in one of five layouts. Each string is a sequence of bytes that is never changed by
 * a conversion.
 *
 * The allocator owns the memory, so a tensor in the memory of a scope ends with the scope. The tensor itself owns only the
 * blocks of `malloc` storage and a mapped file, which {@link close} or `using` frees.
 *
 * | made by                       | its strings lie in                 | ends with                                 |
 * | ----------------------------- | ---------------------------------- | ----------------------------------------- |
 * | `from()`, `to()`              | memory of the allocator            | the scope of the memory, or the collector |
 * | `from()`, `storage: 'malloc'` | blocks of the C library            | `close()`                                 |
 * | `ofSegment()`                 | the bytes that were passed         | the scope of the segment                  |
 * | `open()`                      | a mapped file, read when asked for | `close()`                                 |
 *
 * A tensor belongs to its thread. Its `toArray()`, or the bytes of a packed copy, can be posted to another one.
 *
 * @example
 * const strings = StringTensor.from(['tensor', 'of', 'strings'])
 * strings.get(0) // 'tensor'
 * strings.indexOf('of') // 1
 * strings.to('tflite').segment.byteSize // 35
 */
export class StringTensor extends StringElements {
  #parts: Parts
  #isClosed = false

  static {
    isTensor = (value): value is StringTensor => typeof value === 'object' && value !== null && #parts in value
    announce(
      this,
      (value) => (isTensor(value) ? value.#parts : undefined),
      (parts) => new StringTensor(parts),
    )
  }

  /** @internal */
  constructor(parts: Parts) {
    super(parts.image)
    this.#parts = parts
  }

  /**
   * Writes strings into memory of an allocator.
   *
   * @param strings the elements: strings, or bytes that are stored unchanged. They are read once.
   * @throws {ArgumentError} if an element is neither, or the shape has another count. @throws {AllocationError}
   * @throws {TensorLimitError} if the layout cannot hold the strings.
   * @throws {InvalidTextError} according to the policy.
   * @example
   * StringTensor.from(['a', 'b', 'c', 'd'], { layout: 'tflite', shape: [2, 2] })
   */
  static from(strings: Iterable<Text>, options?: FromOptions): StringTensor {
    return new StringTensor(partsFrom(strings, options))
  }

  /**
   * Reads the bytes of a segment, or of a Uint8Array such as a Buffer, as a string tensor. They are checked first, and not
   * copied. Pointers are not followed, except with `validate: 'trusted'`.
   *
   * @throws {MalformedTensorError} if the bytes break a rule of the layout. @throws {ScopeClosedError} if the memory is closed.
   * @throws {ArgumentError} if an option is not valid.
   * @example
   * StringTensor.ofSegment(segment, { layout: 'tflite' }).toArray()
   */
  static ofSegment(segment: Segment | Uint8Array, options: OfSegmentOptions): StringTensor {
    return new StringTensor(partsOfSegment(segment, options))
  }

  /**
   * Opens a file as a string tensor. The table is copied and checked once; strings are read from the file when they are asked
   * for. The layout and shape come from the options, or from the description that {@link export} wrote beside the file.
   *
   * @throws {MalformedTensorError} if the bytes break a rule of the layout. @throws the error of the file system.
   * @throws {ArgumentError} if an option is not valid, or the layout is neither given nor described.
   * @example
   * using strings = StringTensor.open('words.bin', { layout: 'tflite' })
   */
  static open(path: string, options?: OpenOptions): StringTensor {
    return new StringTensor(partsOfFile(path, options))
  }

  /**
   * Creates a tensor from Arrow's Utf8 or LargeUtf8 buffers. For `tf` in an arena (the default), the data is not copied: the
   * tensor's VIEWs name the data and keep it from being collected.
   *
   * @param offsets one offset more than there are strings.
   * @throws {MalformedTensorError} if an offset leads outside of the data.
   * @example
   * StringTensor.ofArrowUtf8(Buffer.from('hello'), Int32Array.of(0, 1, 5)).toArray() // ['h', 'ello']
   */
  static ofArrowUtf8(data: Uint8Array, offsets: Int32Array | BigInt64Array, options?: OfArrowOptions): StringTensor {
    return new StringTensor(partsOfArrow(data, offsets, options))
  }

  /**
   * Creates a tensor from Arrow's Utf8View or BinaryView, whose long strings are not copied for `tf` in an arena (the default).
   *
   * @param views 16 bytes for each string. @param buffers the bytes to which the views refer.
   * @throws {MalformedTensorError} if a view leads outside of the buffers.
   */
  static ofArrowUtf8View(views: Uint8Array, buffers: readonly Uint8Array[], options?: OfArrowOptions): StringTensor {
    return new StringTensor(partsOfViews(views, buffers, options))
  }

  /**
   * Creates empty strings with room for `capacity` bytes each, in one block: the RFC's PREALLOC. Such a tensor can be filled
   * again and again without an allocation.
   *
   * @example
   * const names = StringTensor.ofCapacity(32, 64, { layout: 'rfc24' })
   * names.set(0, 'first')
   */
  static ofCapacity(count: number, capacity: number, options?: OfCapacityOptions): StringTensor {
    return new StringTensor(partsOfCapacity(count, capacity, options))
  }

  override get shape(): readonly number[] {
    return this.#parts.shape
  }

  /** The layout of the strings in memory. */
  get layout(): Layout {
    return this.image.layout
  }

  /** The pointer size and byte order of the bytes. */
  get abi(): Abi {
    return this.image.abi
  }

  /** The place for the bytes of long strings. */
  get storage(): Storage {
    return this.#parts.storage
  }

  /** The memory to pass to native code: the table of structs, or the whole tensor if it is packed. */
  get segment(): Segment {
    return this.#parts.segment
  }

  /** Returns the bytes of {@link segment} as a tensor of `uint8`, which calls of other packages accept. */
  tensor(): Tensor<'uint8'> {
    return tensor('uint8', [this.segment.byteSize], this.segment)
  }

  /** Returns {@link tensor} for other processes, which use {@link ofSegment}. @throws {ArgumentError} if an element has a pointer. */
  sharedTensor(): Tensor<'uint8'> {
    checkShareable(this)
    return this.tensor()
  }

  /**
   * Sets an element. A value that fits is written in place. Otherwise it goes into the arena, where the old bytes remain until
   * {@link compact}. In `malloc` storage the rules of the C library apply.
   *
   * @throws {ReadOnlyError} for `legacy`, and bytes from outside that are not `writable`.
   * @throws {TensorLimitError} if the value does not fit in place, and the bytes are another machine's or from outside; for `tflite`, if it has
   * another length than the old value.
   * @throws {BoundsError} if the index is not below the length. @throws {AllocationError} @throws {InvalidTextError}
   */
  set(index: number, value: Text, options?: TextOptions): void {
    if (options === undefined && typeof value === 'string' && this.#setText(index, value)) return
    const bytes = encodeText(value, policyIn(options), 'value')
    this.#checkSettable(index)
    if (this.layout === 'tflite') return setSameLength(this.reader, index, bytes)
    if (this.#parts.blocks !== undefined || this.image.foreign) {
      if (this.layout === 'tf') tstringCopy(this.#struct(index), bytes)
      else rfcAssign(this.#struct(index), this.layout as RfcLayout, bytes)
      return
    }
    if (setInPlace(this.#structs, index, bytes)) return
    if (!canGrow(this.#parts)) throw placeError(this.#structs, index, bytes)
    setInArena(this.#arena(), this.#structs, index, bytes)
  }

  /**
   * Returns a part of the first axis, with the arguments of `Array.prototype.slice`. Structs are shared with this tensor;
   * layouts without structs are copied.
   */
  slice(start?: number, end?: number): StringTensor {
    const range = rangeOf(this.shape, start, end)
    this.checkAlive()
    // Both tensors can be set afterwards, so they share an arena in which each finds the strings of the other.
    if (canGrow(this.#parts)) this.#arena()
    return new StringTensor(windowOf(this.#parts, range) ?? this.#copied(indicesOf(range), range.shape, {}))
  }

  /**
   * Copies the elements with these indices, in this order, into a tensor of the same layout.
   *
   * @throws {BoundsError} if an index is not below the length.
   */
  gather(indices: readonly number[] | Uint32Array, options?: LayoutOptions): StringTensor {
    const checked = checkOptions(options, layoutOptions)
    const selection = selectionOf(indices, this.length)
    return new StringTensor(this.#copied(selection, Object.freeze([selection.length]), checked))
  }

  /**
   * Copies the tensor in a layout.
   *
   * @throws {TensorLimitError} if the layout cannot hold the strings. Nothing was written then. @throws {AllocationError}
   * @example
   * StringTensor.from(['a']).to('legacy').segment.byteSize // 10
   */
  to(layout: Layout, options?: LayoutOptions): StringTensor {
    const checked = checkOptions(options, layoutOptions)
    return new StringTensor(
      convertTo(this.image, undefined, this.shape, placementOf(layout, checked), checked.allocator),
    )
  }

  /**
   * Writes the packed bytes of the tensor to a file.
   *
   * @param target a path, beside which `<path>.json` describes the layout and shape for {@link open}; or an open file
   *   descriptor, which gets the bytes alone.
   */
  export(target: string | number): void {
    this.checkAlive()
    const parts = isWhole(this.#parts)
      ? this.#parts
      : this.#copied(undefined, this.shape, { storage: 'packed', abi: this.abi })
    writeTensor(parts, target)
  }

  /**
   * Moves the strings of the arena together and leaves the old bytes to the allocator's lifetime. Slices keep their strings.
   * Strings of {@link ofCapacity} lose the room that they do not use.
   *
   * @throws {ArgumentError} for a slice, whose strings lie among those of the tensor from which it was cut.
   */
  compact(): void {
    checkWritable(this.image.table)
    refuseSlice(this.#parts)
    const arena = this.storage === 'arena' ? this.#arena() : this.#parts.arena
    if (arena !== undefined) compact(this.#structs, arena)
  }

  /** Makes room for `capacity` bytes in one string. Only for `tf` in `malloc` storage. @throws {AllocationError} */
  reserve(index: number, capacity: number): void {
    tstringReserve(this.#mallocStruct(index), checkSize(capacity, 'capacity'))
  }

  /** Appends to one string, whose room doubles. Only for `tf` in `malloc` storage. @throws {AllocationError} */
  append(index: number, value: Text): void {
    tstringAppend(this.#mallocStruct(index), value)
  }

  /** Assigns a string of another tensor. A view stays a view. Only for `tf` in `malloc` storage. */
  assign(index: number, source: StringTensor, sourceIndex: number): void {
    const struct = this.#mallocStruct(index)
    checkTensor(source)
    checkTf(source.layout)
    source.locate(sourceIndex)
    assignElement(struct, this.image, source.#structs, sourceIndex, source.#struct(sourceIndex))
  }

  /** Makes one string a view of bytes and keeps them from being collected. Only for `tf` in `malloc` storage. */
  assignView(index: number, bytes: Segment): void {
    tstringAssignView(this.#mallocStruct(index), bytes)
    if (bytes.byteSize > 0) this.image.regions?.add(bytes)
  }

  /** Moves one string here from another tensor in `malloc` storage, where a LARGE leaves an empty string. */
  move(index: number, source: StringTensor, sourceIndex: number): void {
    const struct = this.#mallocStruct(index)
    checkTensor(source)
    tstringMove(struct, source.#mallocStruct(sourceIndex))
    adoptRegions(this.image, source.image)
  }

  /** Leaves the blocks of `malloc` storage to the new owner of the table, for example to TensorFlow. */
  handOff(): void {
    if (!this.#parts.isWindow) this.#parts.blocks?.handOff()
  }

  /**
   * Frees the memory that the tensor itself owns: the blocks of `malloc` storage or a mapped file. Then the tensor and its
   * slices refuse to be used. Blocks whose memory a call or a hold uses are freed with that memory. Other memory ends with its
   * allocator. A slice owns nothing.
   *
   * @throws {ScopeClosedError} if the tensor is closed already. @throws {ScopeHeldError} while a mapped file is in use.
   */
  close(): void {
    if (this.#isClosed) throw closedError('Close a tensor once, or declare it with `using`.')
    if (!this.#parts.isWindow) this.#parts.blocks?.close()
    this.#parts.close?.()
    this.#isClosed = true
  }

  /** Closes the tensor if it is open; a second disposal does nothing. @throws {ScopeHeldError} as {@link close} */
  [Symbol.dispose](): void {
    if (!this.#isClosed) this.close()
  }

  #copied(selection: Uint32Array | undefined, shape: readonly number[], options: LayoutOptions): Parts {
    const { storage, allocator } = this.#parts
    const placement = placementOf(this.layout, { storage, abi: this.abi, ...options })
    const target = options.allocator ?? (selection === undefined ? gcAllocator : allocator)
    return convertTo(this.image, selection, shape, placement, target)
  }

  get #structs(): StructReader {
    return this.reader as StructReader
  }

  #arena(): Arena {
    if (this.#parts.arena !== undefined) return this.#parts.arena
    const parts = withArena(this.#parts)
    this.#parts = parts
    this.adopt(parts.image)
    return parts.arena
  }

  /** Sets most texts without a copy of their bytes. Returns false if nothing was set. @throws as {@link set} */
  #setText(index: number, text: string): boolean {
    const parts = this.#parts
    if (parts.blocks !== undefined || parts.image.foreign || !isStructLayout(parts.image.layout)) return false
    this.#checkSettable(index)
    const reader = this.reader as StructReader
    if (setAscii(reader, index, text)) return true
    if (parts.image.layout !== 'tf') return false
    if (parts.arena !== undefined) return setLongText(parts.arena, reader, index, text)
    return canGrow(parts) && setLongText(this.#arena(), this.#structs, index, text)
  }

  #checkSettable(index: number): void {
    this.checkIndex(index)
    if (!this.#parts.isWritable) throw notSettable(this.layout)
    checkWritable(this.image.table)
  }

  #mallocStruct(index: number): Segment {
    this.#checkSettable(index)
    checkTf(this.layout)
    if (this.#parts.blocks !== undefined) return this.#struct(index)
    throw new ArgumentError(`the tensor must have the storage 'malloc', got '${this.storage}'`, {
      hint: "Create the tensor with { storage: 'malloc' }, or call set(), which works with every storage.",
      details: { name: 'storage', expected: 'malloc', received: this.storage },
    })
  }

  #struct(index: number): Segment {
    const size = structSize(this.layout as StructLayout)
    return this.image.table.asSlice(index * size, size)
  }
}

function checkTensor(source: unknown): asserts source is StringTensor {
  if (!isTensor(source)) throw argumentError('source', 'a StringTensor', source)
}

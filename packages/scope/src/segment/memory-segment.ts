import { ArgumentError, type Lifetime, Segment } from '@tenon/core'
import { checkAlignment, checkSize, checkSlice, DEVICE_MEMORY, READ_ONLY, wrongType } from '@tenon/core/internal'
import { threadId } from 'node:worker_threads'
import { checkLayout, type Layout, sizeOf } from '../layout/memory-layout.ts'
import type { ValueLayout } from '../layout/value-layout.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { ImplicitScope } from '../scope/gc-scopes.ts'
import { copyBytes, fill, mismatch, overlap } from './bulk.ts'
import type { Charset } from './charset.ts'
import { copyElements, elementSize, Slices, toArray } from './elements.ts'
import { blockOfAddress, blockOfBuffer, isUserBlock, reinterpret } from './foreign-memory.ts'
import { checkAligned, describeSegment } from './locate.ts'
import { mapFile, MappedAccess, type MapOptions } from './mapped-file.ts'
import { getString, setString, type StringOptions } from './strings.ts'
import { refuse } from './value-range.ts'
import { typedView, type ViewClass, withView, withViewAsync } from './views.ts'

/** The result of `toArray` for a layout. */
export type ArrayOf<Value> = [Value] extends [number]
  ? Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array
  : [Value] extends [bigint]
    ? BigInt64Array | BigUint64Array
    : Value[]

const offsetOfElement = (layout: Layout, index: number): number =>
  checkSize(index, 'index', 'elements') * sizeOf(layout)

let nullSegment: MemorySegment | undefined

/**
 * A window over memory with typed access: native memory of a scope, or memory of a JavaScript buffer. It owns nothing.
 * After its scope has closed, its address, size and slices are still available, but reading and writing throw.
 *
 * @example
 * const scope = NativeScope.ofConfined()
 * const segment = scope.allocate(16, 8)
 * segment.setFloat64(8, 1.5)
 * segment.getFloat64(8) // 1.5
 * scope.close()
 */
export class MemorySegment extends MappedAccess {
  /** The null pointer. */
  static get NULL(): MemorySegment {
    return (nullSegment ??= MemorySegment.ofAddress(0))
  }

  /**
   * Allocates zeroed memory for a single segment.
   *
   * @param byteAlignment a power of two up to 2^30.
   * @param scope the scope that frees the memory. Default: the garbage collector frees it.
   * @throws {ArgumentError} @throws {AllocationError} @throws {ScopeClosedError} once closing has begun.
   */
  static allocateNative(byteSize: number, byteAlignment: number = 16, scope?: ResourceScope): MemorySegment {
    const size = checkSize(byteSize, 'byteSize')
    const alignment = checkAlignment(byteAlignment)
    const owner = scope === undefined ? new ImplicitScope() : checkScope(scope)
    return new MemorySegment(owner.newBlock(size, alignment), 0, size, 0)
  }

  /**
   * A segment that shares the memory of a JavaScript buffer or view. Two segments over one buffer have the same scope. A
   * segment over the raw view of another segment has that segment's scope, because the memory ends with it.
   *
   * @throws {ArgumentError} if the buffer is detached or resizable.
   */
  static ofBuffer(source: ArrayBufferLike | ArrayBufferView): MemorySegment {
    const block = blockOfBuffer(source)
    const byteOffset = ArrayBuffer.isView(source) ? source.byteOffset : 0
    return new MemorySegment(block, byteOffset, source.byteLength, 0)
  }

  /** A pointer from native code. It has no memory until `reinterpret()` sets its size. */
  static ofAddress(address: bigint | number): MemorySegment {
    return new MemorySegment(blockOfAddress(address), 0, 0, 0)
  }

  /** A segment of another allocator, with typed access and the same lifetime. */
  static ofSegment(segment: Segment): MemorySegment {
    if (!(segment instanceof Segment)) throw wrongType('segment', 'a Segment', segment)
    if ((segment.flags & DEVICE_MEMORY) !== 0) {
      throw new ArgumentError('segment must be host memory, got device memory', {
        hint: 'Copy it to memory of a scope first.',
      })
    }
    return new MemorySegment(segment.block, segment.base, segment.byteSize, segment.flags)
  }

  /** Maps a file. The segment is read-only unless {@link MapOptions} set another access. */
  static mapFile(path: string, scope: ResourceScope, options?: MapOptions): MemorySegment {
    return MemorySegment.ofSegment(mapFile(path, scope, options))
  }

  /** Copies elements of the same size. If the byte orders of the layouts differ, the bytes of each element are reversed. */
  static copy(
    source: MemorySegment,
    sourceLayout: ValueLayout,
    sourceOffset: number,
    target: MemorySegment,
    targetLayout: ValueLayout,
    targetOffset: number,
    elementCount: number,
  ): void {
    checkSegment(source, 'source')
    checkSegment(target, 'target')
    copyElements([source, sourceLayout, sourceOffset], [target, targetLayout, targetOffset], elementCount)
  }

  /** The scope or other lifetime that owns the memory. */
  get scope(): Lifetime {
    return this.block.gate.owner
  }

  /** Whether the segment is over the buffer of a user: see {@link ofBuffer}. */
  get isHeap(): boolean {
    return isUserBlock(this.block)
  }

  /** Whether the thread with this id could access the segment. Confined memory never leaves its thread. */
  isAccessibleBy(thread: number): boolean {
    if (!Number.isInteger(thread)) throw wrongType('thread', 'the id of a thread', thread)
    return thread === threadId || this.block.view.buffer instanceof SharedArrayBuffer
  }

  /**
   * A part of this segment, with the same scope and rights.
   *
   * @param byteOffset the offset of its first byte; an offset equal to the size is legal.
   * @param byteSize its size in bytes. Default: the rest of this segment.
   * @param byteAlignment the alignment that its address must have.
   * @throws {BoundsError} if it reaches outside. @throws {AlignmentError} if its address is not aligned.
   */
  override asSlice(byteOffset: number, byteSize?: number, byteAlignment?: number): MemorySegment {
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    const slice = new MemorySegment(this.block, this.base + offset, size, this.flags)
    if (byteAlignment !== undefined) checkAligned(this.block.address + slice.base, checkAlignment(byteAlignment))
    return slice
  }

  /** A read-only segment over the same memory. */
  asReadOnly(): MemorySegment {
    return new MemorySegment(this.block, this.base, this.byteSize, this.flags | READ_ONLY)
  }

  /** The part of this segment that overlaps another one; of size 0 without an overlap. */
  asOverlappingSlice(other: MemorySegment): MemorySegment {
    const [offset, size] = overlap(this, checkSegment(other, 'other'))
    return this.asSlice(offset, size)
  }

  /**
   * The memory at this address with another size, which may be larger. Unsafe, because the size cannot be checked. With
   * `scope`, the memory is usable until that scope closes, which then calls `cleanup` once with a segment of the global
   * scope.
   *
   * @throws {ScopeClosedError} if this segment's scope or `scope` is closed; then `cleanup` never runs.
   */
  reinterpret(byteSize: number, scope?: ResourceScope, cleanup?: (segment: MemorySegment) => void): MemorySegment {
    return reinterpret(MemorySegment, this, byteSize, scope, cleanup)
  }

  /** Whether both start at the same address. Size, scope and rights do not matter. */
  equals(other: unknown): boolean {
    return other instanceof MemorySegment && other.block.address + other.base === this.block.address + this.base
  }

  /** Reads a 64-bit integer as a number. @throws {ArgumentRangeError} if it is not a safe integer. */
  getInt64AsNumber(byteOffset: number, littleEndian?: boolean): number {
    const value = this.getInt64(byteOffset, littleEndian)
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : refuse('a number', value)
  }

  /** Reads a value of a layout. */
  get<Value>(layout: Layout<Value>, byteOffset: number): Value {
    return checkLayout(layout).read(this, byteOffset)
  }

  /** Writes a value of a layout. */
  set<Value>(layout: Layout<Value>, byteOffset: number, value: Value): void {
    checkLayout(layout).write(this, byteOffset, value)
  }

  /** Reads the element at an index, as if the segment were an array. */
  getAtIndex<Value>(layout: Layout<Value>, index: number): Value {
    return checkLayout(layout).read(this, offsetOfElement(layout, index))
  }

  /** Writes the element at an index. */
  setAtIndex<Value>(layout: Layout<Value>, index: number, value: Value): void {
    checkLayout(layout).write(this, offsetOfElement(layout, index), value)
  }

  /** Sets every byte to a value from 0 to 255. */
  fill(value: number): this {
    fill(this, value)
    return this
  }

  /** Copies all bytes of `source` to the start of this segment. They may overlap. @throws {BoundsError} if it is larger. */
  copyFrom(source: MemorySegment): this {
    copyBytes(checkSegment(source, 'source'), this)
    return this
  }

  /** The offset of the first byte that differs: -1 if none does, the smaller size if one segment is a prefix. */
  mismatch(other: MemorySegment): number {
    return mismatch(this, checkSegment(other, 'other'))
  }

  /** Copies all elements to a typed array, or to an array for `bool`, addresses and groups. */
  toArray<Value>(layout: Layout<Value>): ArrayOf<Value> {
    return toArray(this, layout) as ArrayOf<Value>
  }

  /** Iterates over the segment in slices of one element. @throws {ArgumentError | AlignmentError} at once. */
  elements(layout: Layout): IteratorObject<MemorySegment, undefined> {
    return new Slices(this, elementSize(this, layout))
  }

  /**
   * Reads a string up to its terminator, which must lie inside the segment, or of exactly `byteLength` bytes.
   *
   * @throws {BoundsError} if the segment does not contain a terminator.
   */
  getString(byteOffset: number, charset: Charset = 'utf-8', byteLength?: number): string {
    return getString(this, byteOffset, charset, byteLength)
  }

  /** Writes a string and its terminator, or nothing if they do not fit. */
  setString(byteOffset: number, text: string, options?: StringOptions): void {
    setString(this, byteOffset, text, options)
  }

  /**
   * Runs `use` with a raw view of these bytes while the scope is held open, for fast loops. A function that is created
   * once is faster than one created for each call. After the call, the view is like one of `view()`.
   *
   * @example
   * function sumOf(view) {
   *   const end = view.byteLength
   *   let total = 0
   *   for (let i = 0; i < end; i += 4) total += view.getInt32(i, true)
   *   return total
   * }
   * segment.withView(sumOf)
   */
  withView<Result>(use: (view: DataView) => Result): Result {
    return withView(this, use)
  }

  /**
   * {@link withView} for an asynchronous function. The scope is held open until its promise has settled, so the system can
   * read into the memory or write from it.
   *
   * @throws the error of the function, by rejecting.
   * @example
   * await segment.withViewAsync((view) => file.read(view, 0, view.byteLength, 0))
   */
  withViewAsync<Result>(use: (view: DataView) => PromiseLike<Result>): Promise<Result> {
    return withViewAsync(this, use)
  }

  /**
   * A raw typed array over these bytes. Unsafe: after close it reads `undefined` and ignores writes, where a `DataView`
   * throws, and over shared memory it keeps working. Its `buffer` reaches the whole chunk, which is never lent again.
   *
   * @throws {AlignmentError} if the address or the size is not a multiple of the element's size. @throws {ReadOnlyError}
   */
  unsafeView<View>(Class: ViewClass<View>): View {
    return typedView(this, Class)
  }

  override toString(): string {
    return `MemorySegment ${describeSegment(this)}${this.readOnly ? ', read-only' : ''}`
  }
}

/** @throws {ArgumentError} if the value is not a segment of this package. */
export function checkSegment(value: unknown, name: string): MemorySegment {
  if (value instanceof MemorySegment) return value
  const hint =
    'Use MemorySegment.ofSegment() for a segment of another allocator, MemorySegment.ofBuffer() for a buffer.'
  throw wrongType(name, 'a MemorySegment', value, hint)
}

import { ArgumentError, type Lifetime, Segment } from '@tenon/core'
import {
  addressIn,
  type Block,
  checkAddress,
  checkAlignment,
  checkSize,
  checkSlice,
  DEFAULT_ALIGNMENT,
  DEVICE_MEMORY,
  READ_ONLY,
  wrongType,
} from '@tenon/core/internal'
import { checkLayout, checkRequest, type Layout, sizeOf } from '../layout/memory-layout.ts'
import type { OrderedLayout } from '../layout/ordered-layout.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { currentThread } from '../scope/current-thread.ts'
import { ImplicitScope } from '../scope/gc-scopes.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { copyBytes, fill, mismatch, overlap } from './bulk.ts'
import type { Charset } from './charset.ts'
import { copyElements, elementSize, Slices, toArray } from './elements.ts'
import { isUserBlock, memoryOfBuffer, reinterpret } from './foreign-memory.ts'
import { checkAligned, describeSegment } from './locate.ts'
import { isMappedBlock, mapFile, MappedAccess, type MapOptions } from './mapped-file.ts'
import { moveBlock } from './move.ts'
import { blockOfPointer } from './pointers.ts'
import { type ImplicitToken, shareSegment } from './share.ts'
import { getString, setString, type StringOptions } from './strings.ts'
import { refuse } from './value-range.ts'
import { typedView, type ViewClass, withView, withViewAsync } from './views.ts'

/** The result of `toArray` for values of a layout. */
export type ArrayOf<Value> = [Value] extends [number]
  ? Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array
  : [Value] extends [bigint]
    ? BigInt64Array | BigUint64Array
    : Value[]

const offsetOfElement = (layout: Layout, index: number): number =>
  checkSize(index, 'index', 'elements') * sizeOf(layout)

let nullSegment: MemorySegment | undefined

/**
 * A range of a scope's memory or of a JavaScript buffer, with typed access. A segment does not own the memory. After the
 * scope has closed, the segment's address, size and slices are still available, but reading and writing throw.
 *
 * | segment                      | its memory is freed by         | access after that                    |
 * | ---------------------------- | ------------------------------ | ------------------------------------ |
 * | allocated from a scope       | the end of the scope           | throws `ScopeClosedError`            |
 * | a slice                      | the owner of the whole segment | throws `ScopeClosedError`            |
 * | over a JavaScript buffer     | the garbage collector          | (the segment keeps the buffer alive) |
 * | at an address of native code | native code                    | is undefined behaviour               |
 *
 * Every access is checked against the bounds of the segment, the state of its scope and the thread. Only reads through a pointer from
 * native code, whose size is 0 because C does not say it, have no bounds.
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
   * @param scope the scope that frees the memory. Default: the garbage collector frees it, and other threads get it by {@link share}.
   * @throws {ArgumentError} @throws {AllocationError} @throws {ScopeClosedError} once closing has begun.
   */
  static allocateNative(byteSize: number, byteAlignment?: number, scope?: ResourceScope): MemorySegment
  /** Allocates zeroed memory of a size, or for one value of a layout. */
  static allocateNative(request: number | Layout<unknown, number>, scope?: ResourceScope): MemorySegment
  static allocateNative(
    request: number | Layout<unknown, number>,
    second: number | ResourceScope | undefined,
    third?: ResourceScope,
  ): MemorySegment {
    const isScoped = typeof request !== 'number' || (third === undefined && typeof second === 'object')
    const [size, alignment] = checkRequest(request, isScoped || second === undefined ? DEFAULT_ALIGNMENT : second)
    const scope = isScoped ? second : third
    const owner = scope === undefined ? new ImplicitScope() : checkScope(scope)
    return newSegment(owner.newBlock(size, alignment), 0, size, 0)
  }

  /**
   * Returns a segment over the memory of a JavaScript buffer or view. Two segments over the same buffer have the same scope.
   * A segment over another segment's raw view has that segment's scope, because the scope frees the memory.
   *
   * @throws {ArgumentError} if the buffer is detached or resizable.
   */
  static ofBuffer(source: ArrayBufferLike | ArrayBufferView): MemorySegment {
    const { block, byteOffset, byteSize } = memoryOfBuffer(source)
    return newSegment(block, byteOffset, byteSize, 0)
  }

  /**
   * Returns a segment for a pointer of native code. Its size is 0 until `reinterpret()` sets another size. The methods that read a
   * number read through it nevertheless, which is unsafe: an address that is not valid ends the process, as in C.
   *
   * @param address from 0 to 2^64 - 1; a bigint from 2^53 on. `(void *)-1` of C is `2n ** 64n - 1n`.
   */
  static ofAddress(address: bigint | number): MemorySegment {
    return MemorySegment.ofPointer(checkAddress(address))
  }

  /** @internal As {@link ofAddress}, for an address that is valid. */
  static ofPointer(address: number | bigint): MemorySegment {
    const block = blockOfPointer(address)
    return newSegment(block, typeof address === 'number' ? address - block.address : 0, 0, 0)
  }

  /** Returns a segment with typed access and the same lifetime over a segment from another allocator. */
  static ofSegment(segment: Segment): MemorySegment {
    if (!(segment instanceof Segment)) throw wrongType('segment', 'a Segment', segment)
    if ((segment.flags & DEVICE_MEMORY) !== 0) {
      throw new ArgumentError('segment must be host memory, got device memory', {
        hint: 'Copy it to memory of a scope first.',
      })
    }
    return newSegment(segment.block, segment.base, segment.byteSize, segment.flags)
  }

  /**
   * Maps a file. The segment is read-only unless {@link MapOptions} select another access.
   *
   * @param scope the scope that unmaps the file. Default: the garbage collector unmaps it, and other threads get it by {@link share}.
   */
  static mapFile(path: string, scope?: ResourceScope, options?: MapOptions): MemorySegment {
    return MemorySegment.ofSegment(mapFile(path, scope, options))
  }

  /** Copies elements of the same size. If the byte orders of the layouts differ, the bytes of each element are reversed. */
  static copy(
    source: MemorySegment,
    sourceLayout: OrderedLayout,
    sourceOffset: number,
    target: MemorySegment,
    targetLayout: OrderedLayout,
    targetOffset: number,
    elementCount: number,
  ): void {
    checkSegment(source, 'source')
    checkSegment(target, 'target')
    copyElements([source, sourceLayout, sourceOffset], [target, targetLayout, targetOffset], elementCount)
  }

  /** The scope or other lifetime that owns the memory. `close()` throws for the scopes that the garbage collector ends. */
  get scope(): Lifetime {
    return this.block.gate.owner
  }

  /** Whether the segment is over a buffer that the user passed to {@link ofBuffer}. */
  get isHeap(): boolean {
    return isUserBlock(this.block)
  }

  /** Whether the thread with this id could access the segment. Confined memory never leaves its thread. */
  isAccessibleBy(thread: number): boolean {
    if (!Number.isInteger(thread)) throw wrongType('thread', 'the id of a thread', thread)
    if (thread === currentThread()) return true
    const { owner } = this.block.gate
    const isConfined = owner instanceof ManagedScope && owner.kind === 'confined'
    const isCollected = owner instanceof ImplicitScope && isMappedBlock(this.block)
    return !isConfined && (isCollected || this.block.view.buffer instanceof SharedArrayBuffer)
  }

  /**
   * Returns a part of this segment, with the same scope and rights.
   *
   * @param byteOffset the offset of the slice's first byte. It may equal the size of this segment.
   * @param byteSize the size of the slice in bytes. Default: the rest of this segment.
   * @param byteAlignment the alignment that the address of the slice must have.
   * @throws {BoundsError} if the slice extends beyond this segment. @throws {AlignmentError} if the slice is not aligned.
   */
  override asSlice(byteOffset: number, byteSize?: number, byteAlignment?: number): MemorySegment
  /** Returns a part of this segment that has the size and the alignment of a layout. */
  override asSlice(byteOffset: number, layout: Layout<unknown, number>): MemorySegment
  override asSlice(byteOffset: number, part?: number | Layout<unknown, number>, byteAlignment?: number): MemorySegment {
    if (typeof part === 'object') return this.asSlice(byteOffset, ...checkRequest(part, undefined))
    const [offset, size] = checkSlice(this.byteSize, byteOffset, part)
    const slice = newSegment(this.block, this.base + offset, size, this.flags)
    if (byteAlignment !== undefined) checkAligned(this.block.address + slice.base, checkAlignment(byteAlignment))
    return slice
  }

  /** Returns a read-only segment over the same memory. */
  asReadOnly(): MemorySegment {
    return newSegment(this.block, this.base, this.byteSize, this.flags | READ_ONLY)
  }

  /** Returns the part of this segment that overlaps `other`, which has size 0 if they do not overlap. */
  asOverlappingSlice(other: MemorySegment): MemorySegment {
    const [offset, size] = overlap(this, checkSegment(other, 'other'))
    return this.asSlice(offset, size)
  }

  /**
   * Returns a segment at this address with another size, which may be larger. Unsafe, because the size of native memory cannot be
   * checked. Memory that shares a buffer with other owners, and memory of JavaScript buffers, cannot grow beyond its end.
   * With `scope`, the memory is usable until that scope closes. The scope then calls `cleanup` once, with a segment of the
   * global scope.
   *
   * @throws {ScopeClosedError} if this segment's scope or `scope` is closed, in which case `cleanup` never runs.
   * @throws {ArgumentRangeError} if the size cannot be that of the memory.
   */
  reinterpret(byteSize: number, scope?: ResourceScope, cleanup?: (segment: MemorySegment) => void): MemorySegment {
    return reinterpret(newSegment, this, byteSize, scope, cleanup)
  }

  /** Whether both segments start at the same address. Their sizes, scopes and rights are not compared. */
  equals(other: unknown): boolean {
    if (!(other instanceof MemorySegment)) return false
    return addressIn(other.block, other.base) === addressIn(this.block, this.base)
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

  /**
   * Creates a message, with which another thread opens this segment by `ResourceScope.attach()`, if the garbage collector owns the memory:
   * that of `allocateNative()` and `mapFile()` without a scope, or in an implicit one. Send the message without a transfer list. The memory
   * is freed when all threads have collected it. Accesses by several threads are not ordered, other than atomic ones.
   *
   * @throws {ArgumentError} if the memory belongs to another scope, which has share() or handoff(), or to a JavaScript buffer.
   * @throws {UnsupportedError} for a mapped file if the runtime cannot share native memory.
   * @example
   * const segment = MemorySegment.allocateNative(64)
   * worker.postMessage(segment.share())
   */
  share(): ImplicitToken {
    return shareSegment(this)
  }

  /**
   * Moves the allocation of this segment to another scope, which frees it from then on: memory of `allocateNative()`, a mapped file, or
   * memory of a message. Its segments and raw views end, other than views of shared memory.
   *
   * @returns the segment in the other scope. @throws {ArgumentError} for a part of an arena, and other memory.
   * @throws {ScopeHeldError} while calls, holds or other threads use the old scope. @throws {ScopeClosedError} if a scope is not open.
   */
  moveTo(scope: ResourceScope): MemorySegment {
    const { base, byteSize, flags } = this
    return newSegment(moveBlock(this, scope), base, byteSize, flags)
  }

  /** Sets every byte to a value from 0 to 255. */
  fill(value: number): this {
    fill(this, value)
    return this
  }

  /** Copies `source` to the start of this segment. Both may overlap. @throws {BoundsError} if `source` is larger. */
  copyFrom(source: MemorySegment): this {
    copyBytes(checkSegment(source, 'source'), this)
    return this
  }

  /** Returns the offset of the first difference, -1 for equal segments, or the smaller size if one is a prefix. */
  mismatch(other: MemorySegment): number {
    return mismatch(this, checkSegment(other, 'other'))
  }

  /** Copies all elements to a typed array, or to an array for `bool`, addresses and groups. */
  toArray<Value>(layout: Layout<Value>): ArrayOf<Value> {
    return toArray(this, layout) as ArrayOf<Value>
  }

  /** Iterates over slices of one element. @throws {ArgumentError | AlignmentError} immediately, not while iterating. */
  elements(layout: Layout): IteratorObject<MemorySegment, undefined> {
    return new Slices(this, elementSize(this, layout))
  }

  /**
   * Reads a string up to its terminator, which must be within the segment, or exactly `byteLength` bytes.
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
   * once is faster than one created for each call. After the call, the view behaves like a view from `view()`.
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
   * Like {@link withView}, for an asynchronous function. The scope is held open until the promise of `use` has settled, for
   * example while the operating system reads a file into the memory.
   *
   * @throws (rejects with) the error of the function.
   * @example
   * await segment.withViewAsync((view) => file.read(view, 0, view.byteLength, 0))
   */
  withViewAsync<Result>(use: (view: DataView) => PromiseLike<Result>): Promise<Result> {
    return withViewAsync(this, use)
  }

  /**
   * Returns a raw typed array over these bytes. Unsafe, because after close it does not throw as a `DataView` does. Reading
   * returns `undefined` and writes are ignored, and over shared memory the array still works. Its `buffer` exposes the whole
   * chunk, which is never reused.
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

type Fields = Pick<Segment, 'block' | 'base' | 'byteSize' | 'flags'>

/** Makes what the constructor of {@link MemorySegment} makes, as that of a base class. */
function BaseSegment(
  this: { -readonly [Key in keyof Fields]: Fields[Key] },
  block: Block,
  base: number,
  byteSize: number,
  flags: number,
): void {
  this.block = block
  this.base = base
  this.byteSize = byteSize
  this.flags = flags
}
BaseSegment.prototype = MemorySegment.prototype

/**
 * Makes a segment. The engine does not inline the constructors of derived classes in a `try` block, where a segment would take 50 ns
 * more, and elsewhere 15 ns more.
 */
export function newSegment(block: Block, base: number, byteSize: number, flags: number): MemorySegment {
  return new (BaseSegment as unknown as typeof MemorySegment)(block, base, byteSize, flags)
}

/** @throws {ArgumentError} if the value is not a segment of this package. */
export function checkSegment(value: unknown, name: string): MemorySegment {
  if (value instanceof MemorySegment) return value
  const hint =
    'Use MemorySegment.ofSegment() for a segment of another allocator, MemorySegment.ofBuffer() for a buffer.'
  throw wrongType(name, 'a MemorySegment', value, hint)
}

import { ArgumentError, type Lifetime, type Segment } from '@tenon/core'
import { checkAlignment, checkSize, checkSlice, describe, READ_ONLY } from '@tenon/core/internal'
import { inspect } from 'node:util'
import { threadId } from 'node:worker_threads'
import { checkLayout, type Layout, sizeOf } from '../layout/memory-layout.ts'
import type { ValueLayout } from '../layout/value-layout.ts'
import type { AnyScope } from '../scope/check-scope.ts'
import { AlignedAccess } from './aligned-access.ts'
import {
  type AtomicKind,
  type AtomicOperation,
  type AtomicValue,
  atomicCompareExchange,
  atomicLoad,
  atomicNotify,
  atomicStore,
  atomicUpdate,
  atomicWait,
} from './atomics.ts'
import { copyBytes, fill, mismatch, overlap } from './bulk.ts'
import type { Charset } from './charset.ts'
import { copyElements, elementSize, Slices, toArray } from './elements.ts'
import { allocateNative, isUserBlock, ofAddress, ofBuffer, ofSegment, reinterpret } from './factories.ts'
import { checkAligned, describeSegment } from './locate.ts'
import {
  forceMapped,
  isLoadedMapped,
  loadMapped,
  mapFile,
  type MapOptions,
  mappingOf,
  unloadMapped,
} from './mapped-file.ts'
import { getString, setString, type StringOptions } from './strings.ts'
import { checkSegment } from './usable.ts'
import { refuse } from './value-range.ts'
import { typedView, type ViewClass, withView, withViewAsync } from './views.ts'

/** What `toArray` gives for values of a layout. */
export type ArrayOf<Value> = [Value] extends [number]
  ? Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array
  : [Value] extends [bigint]
    ? BigInt64Array | BigUint64Array
    : Value[]

const offsetOfElement = (layout: Layout, index: number): number =>
  checkSize(index, 'index', 'elements') * sizeOf(layout)

let nullSegment: MemorySegment | undefined

/**
 * A window over memory with typed access: native memory of a scope, or memory of JavaScript. It owns nothing; what it
 * can be
 * used for ends with its scope. Slices, address and size can be had from a dead segment; reading and writing can't.
 *
 * @example
 * const scope = NativeScope.ofConfined()
 * const segment = scope.allocate(16, 8)
 * segment.setFloat64(8, 1.5)
 * segment.getFloat64(8) // 1.5
 * scope.close()
 */
export class MemorySegment extends AlignedAccess {
  /** The null pointer. */
  static get NULL(): MemorySegment {
    return (nullSegment ??= ofAddress(0))
  }

  /**
   * Zeroed memory of its own.
   *
   * @param byteAlignment a power of two up to 2^30.
   * @param scope what frees it; without it, the garbage collector.
   * @throws {ArgumentError} @throws {AllocationError} @throws {ScopeClosedError} once closing has begun.
   */
  static allocateNative(byteSize: number, byteAlignment: number = 16, scope?: AnyScope): MemorySegment {
    return allocateNative(byteSize, byteAlignment, scope)
  }

  /**
   * The memory of a buffer or view of JavaScript, shared with it. Two segments over one buffer have the same scope. That of a
   * raw view of a segment is the segment's scope: the memory ends with it.
   *
   * @throws {ArgumentError} if it is detached or resizable.
   */
  static ofBuffer(source: ArrayBufferLike | ArrayBufferView): MemorySegment {
    return ofBuffer(source)
  }

  /** A pointer from native code: it has no memory until `reinterpret()` says how much there is. */
  static ofAddress(address: bigint | number): MemorySegment {
    return ofAddress(address)
  }

  /** A segment of another allocator, with typed access. Its lifetime stays what it is. */
  static ofSegment(segment: Segment): MemorySegment {
    return ofSegment(segment)
  }

  /** A file's bytes, mapped: see {@link MapOptions}. The segment is read-only unless `access` says otherwise. */
  static mapFile(path: string, scope: AnyScope, options?: MapOptions): MemorySegment {
    return mapFile(path, scope, options)
  }

  /** Copies elements of the same size; where the orders of the layouts differ, each is turned round. */
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
    copyElements(source, sourceLayout, sourceOffset, target, targetLayout, targetOffset, elementCount)
  }

  /** What it can be used as long as. */
  get scope(): Lifetime {
    return this.block.gate.owner
  }

  /** Whether it is memory of a user's buffer: see {@link ofBuffer}. */
  get isHeap(): boolean {
    return isUserBlock(this.block)
  }

  /** Whether it is a mapped file. */
  get isMapped(): boolean {
    return mappingOf(this) !== undefined
  }

  /** Whether the thread with this id could use it while it is alive: confined memory never leaves its thread. */
  isAccessibleBy(thread: number): boolean {
    if (!Number.isInteger(thread)) throw new ArgumentError(`thread must be a thread's id, got ${describe(thread)}`)
    return thread === threadId || this.block.view.buffer instanceof SharedArrayBuffer
  }

  /**
   * A part of this segment, with its scope and rights.
   *
   * @param byteOffset where it starts, in bytes from this segment's start; equal to the size is legal.
   * @param byteSize its size in bytes; the rest without it.
   * @param byteAlignment that its address must have.
   * @throws {BoundsError} if it reaches outside. @throws {AlignmentError} if its address has another alignment.
   */
  override asSlice(byteOffset: number, byteSize?: number, byteAlignment?: number): MemorySegment {
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    const slice = new MemorySegment(this.block, this.base + offset, size, this.flags)
    if (byteAlignment !== undefined) checkAligned(this.block.address + slice.base, checkAlignment(byteAlignment))
    return slice
  }

  /** The same memory, refusing writes. */
  asReadOnly(): MemorySegment {
    return new MemorySegment(this.block, this.base, this.byteSize, this.flags | READ_ONLY)
  }

  /** The part of this segment whose bytes also belong to the other; of size 0 if none do. */
  asOverlappingSlice(other: MemorySegment): MemorySegment {
    const [offset, size] = overlap(this, checkSegment(other, 'other'))
    return this.asSlice(offset, size)
  }

  /**
   * Restricted: nobody can check it. The memory at this address with another size, which may be larger; with `scope`
   * it is
   * usable until that scope closes, which then calls `cleanup` once, with a segment of the global scope.
   *
   * @throws {ScopeClosedError} if this segment or the scope is dead; then `cleanup` never runs.
   */
  reinterpret(byteSize: number, scope?: AnyScope, cleanup?: (segment: MemorySegment) => void): MemorySegment {
    return reinterpret(this, byteSize, scope, cleanup)
  }

  /** Whether both start at the same address. Size, scope and rights don't matter. */
  equals(other: unknown): boolean {
    return other instanceof MemorySegment && other.block.address + other.base === this.block.address + this.base
  }

  /** Reads a byte: any but 0 is true. */
  getBool(byteOffset: number): boolean {
    return this.getUint8(byteOffset) !== 0
  }

  /** Writes a byte: 1 for true. */
  setBool(byteOffset: number, value: boolean): void {
    if (typeof value !== 'boolean') refuse('bool', value)
    this.setUint8(byteOffset, value ? 1 : 0)
  }

  /** Reads a 64-bit integer as a number. @throws {ArgumentRangeError} if it is none that a number holds exactly. */
  getInt64AsNumber(byteOffset: number, littleEndian?: boolean): number {
    const value = this.getInt64(byteOffset, littleEndian)
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : refuse('a number', value)
  }

  /** Reads what a layout describes. */
  get<Value>(layout: Layout<Value>, byteOffset: number): Value {
    return checkLayout(layout).read(this, byteOffset)
  }

  /** Writes what a layout describes. */
  set<Value>(layout: Layout<Value>, byteOffset: number, value: Value): void {
    checkLayout(layout).write(this, byteOffset, value)
  }

  /** Reads the element of this index, as if the segment were an array. */
  getAtIndex<Value>(layout: Layout<Value>, index: number): Value {
    return checkLayout(layout).read(this, offsetOfElement(layout, index))
  }

  /** Writes the element of this index. */
  setAtIndex<Value>(layout: Layout<Value>, index: number, value: Value): void {
    checkLayout(layout).write(this, offsetOfElement(layout, index), value)
  }

  /** Sets every byte to a value from 0 to 255. */
  fill(value: number): this {
    fill(this, value)
    return this
  }

  /**
   * Copies all bytes of the other segment to this one's start; they may overlap. @throws {BoundsError} if it is larger
   */
  copyFrom(source: MemorySegment): this {
    copyBytes(checkSegment(source, 'source'), 0, this, 0, source.byteSize)
    return this
  }

  /** The offset of the first byte that differs: -1 if none does; the smaller size if one is the other's beginning. */
  mismatch(other: MemorySegment): number {
    return mismatch(this, checkSegment(other, 'other'))
  }

  /** All elements, copied to a typed array; to an array for `bool`, addresses and groups. */
  toArray<Value>(layout: Layout<Value>): ArrayOf<Value> {
    return toArray(this, layout) as ArrayOf<Value>
  }

  /** The slices of this segment, an element each. What is wrong with the layout is thrown at once. */
  elements(layout: Layout): IteratorObject<MemorySegment, undefined> {
    return new Slices(this, elementSize(this, layout))
  }

  /**
   * Reads a string up to its terminator, which must be inside the segment, or of exactly `byteLength` bytes.
   *
   * @throws {BoundsError} if there is no terminator.
   */
  getString(byteOffset: number, charset: Charset = 'utf-8', byteLength?: number): string {
    return getString(this, byteOffset, charset, byteLength)
  }

  /** Writes a string and its terminator, or nothing if it does not fit. */
  setString(byteOffset: number, text: string, options?: StringOptions): void {
    setString(this, byteOffset, text, options)
  }

  /** Reads in one step that no thread sees half done. */
  atomicLoad<Kind extends AtomicKind>(kind: Kind, byteOffset: number): AtomicValue<Kind> {
    return atomicLoad(this, kind, byteOffset) as AtomicValue<Kind>
  }

  /** Writes in one step. */
  atomicStore<Kind extends AtomicKind>(kind: Kind, byteOffset: number, value: AtomicValue<Kind>): void {
    atomicStore(this, kind, byteOffset, value)
  }

  /** Combines what is there with a value in one step. @returns what was there. */
  atomicUpdate<Kind extends AtomicKind>(
    kind: Kind,
    byteOffset: number,
    operation: AtomicOperation,
    value: AtomicValue<Kind>,
  ): AtomicValue<Kind> {
    return atomicUpdate(this, kind, byteOffset, operation, value) as AtomicValue<Kind>
  }

  /** Writes `replacement` if `expected` is there, in one step. @returns what was there. */
  atomicCompareExchange<Kind extends AtomicKind>(
    kind: Kind,
    byteOffset: number,
    expected: AtomicValue<Kind>,
    replacement: AtomicValue<Kind>,
  ): AtomicValue<Kind> {
    return atomicCompareExchange(this, kind, byteOffset, expected, replacement) as AtomicValue<Kind>
  }

  /** Sleeps while `expected` is there, at most `timeout` milliseconds. Only memory of a shared scope. */
  atomicWait<Kind extends 'int32' | 'int64'>(
    kind: Kind,
    byteOffset: number,
    expected: AtomicValue<Kind>,
    timeout: number = Infinity,
  ): 'ok' | 'not-equal' | 'timed-out' {
    return atomicWait(this, kind, byteOffset, expected, timeout)
  }

  /** Wakes threads that wait here. @returns how many. */
  atomicNotify(kind: 'int32' | 'int64', byteOffset: number, count: number = Infinity): number {
    return atomicNotify(this, kind, byteOffset, count)
  }

  /**
   * Runs `use` with a raw view of exactly these bytes, while the scope can't be closed: the way to write fast loops. A
   * function that is made once is faster than one made for each call. After
   * `use` the view is worth what `view()` gives.
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
   * {@link withView} for a function that waits: the scope can't be closed until its promise has settled. The way to let the
   * system read into memory or write from it.
   *
   * @throws what the function throws, by rejecting.
   * @example
   * await segment.withViewAsync((view) => file.read(view, 0, view.byteLength, 0))
   */
  withViewAsync<Result>(use: (view: DataView) => PromiseLike<Result>): Promise<Result> {
    return withViewAsync(this, use)
  }

  /**
   * A raw typed array over these bytes. Unsafe: after close it reads `undefined` and ignores writes, where a
   * `DataView` throws;
   * over shared memory it keeps working. `buffer` reaches the whole chunk, which is never lent again.
   *
   * @throws {AlignmentError} if the address or the size is no multiple of the element's. @throws {ReadOnlyError}
   */
  unsafeView<View>(Class: ViewClass<View>): View {
    return typedView(this, Class)
  }

  /** Writes what was changed back to the file, and waits for it. Only of a mapped file. */
  force(): void {
    forceMapped(this)
  }

  /** Brings the file's bytes into memory. Only of a mapped file. */
  load(): void {
    loadMapped(this)
  }

  /** Whether all of the file's bytes are in memory. Only of a mapped file. */
  isLoaded(): boolean {
    return isLoadedMapped(this)
  }

  /** Lets the system take the memory of the file's bytes for something else. Only of a mapped file. */
  unload(): void {
    unloadMapped(this)
  }

  override toString(): string {
    return `MemorySegment ${describeSegment(this)}${this.readOnly ? ', read-only' : ''}`
  }
}

// What `console.log` shows: not the inside. Outside of the class, whose declaration could not name it.
Object.defineProperty(MemorySegment.prototype, inspect.custom, { value: MemorySegment.prototype.toString })

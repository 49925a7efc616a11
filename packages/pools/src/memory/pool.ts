import { ArgumentError, ReadOnlyError, Segment } from '@tenon/core'
import {
  Block,
  checkOptions,
  checkSize,
  checkSlice,
  describe,
  inspectAsText,
  LostWrites,
  ManagedLifetime,
  READ_ONLY,
  wrongType,
} from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { accessDmaBuf, describeDescriptor } from './descriptor.ts'
import { closeAttachment, type Attachment } from './attachment.ts'
import { Chunk } from './chunk.ts'
import { closeMapping, copyMapped, hasMissingPages, syncMapping, type Mapping } from './mapping.ts'
import type { PoolBacking, PoolFacts, PoolKind, PoolRights } from './pool-facts.ts'

/** The most bytes of a pool: NNAPI's offsets and lengths have 32 bits. */
export const POOL_MAXIMUM = 0xffff_ffff

/** The parts of a pool, which takes the descriptor and the mapping over. */
export interface PoolParts extends PoolFacts {
  readonly kind: PoolKind
  readonly backing: PoolBacking
  readonly label: string
  /** The descriptor, or memory of this process itself. Undefined if only the mapping was kept. */
  readonly attachment: Attachment | undefined
  readonly mapping: Mapping
}

/** The options of a slice. */
export interface SliceOptions {
  /** The dimensions of its value, where the model leaves some open. */
  readonly dimensions?: readonly number[]
  /** Bytes after the slice that belong to it but hold no value. */
  readonly padding?: number
}

/**
 * Memory that a program shares with drivers. Only the memory's handle is sent to another process. The pool owns its
 * descriptor and its mapping until it is closed, which is refused while calls use the pool.
 *
 * | made by              | rights      | who may write                      |
 * | -------------------- | ----------- | ---------------------------------- |
 * | `createPool()`       | `writable`  | the owner and drivers              |
 * | `createFrozenPool()` | `frozen`    | nobody: the system has sealed it   |
 * | `freezePool()`       | `frozen`    | nobody, once it is frozen          |
 * | `shareReadOnly()`    | `read-only` | the owner of the memory alone      |
 * | `openFilePool()`     | `read-only` | whoever may write to the file      |
 * | `createImagePool()`  | `writable`  | the owner and drivers, by requests |
 *
 * The rights are part of the type, so only a `Pool<'writable'>` can contain outputs. A slice is a plain value, which needs no closing.
 *
 * @example
 * using pool = createPool(1 << 20)
 * pool.write(0, new Float32Array([1, 2, 3]))
 * const input = pool.slice(0, 12)
 */
export class Pool<Rights extends PoolRights = PoolRights> extends ManagedLifetime implements PoolFacts {
  readonly kind: PoolKind
  readonly rights: Rights
  /** The place of the bytes. A `device-blob` or `device-image` without a `dma-buf` is emulated. */
  readonly backing: PoolBacking
  readonly byteSize: number
  readonly identity: string
  readonly identityOffset: number
  readonly #parts: PoolParts
  /** Returns the error for writes that did not reach a writable file. */
  readonly #lostWrites: LostWrites | undefined
  /** Undefined where the runtime forbids views of native memory. */
  readonly #block: Block | undefined
  /** Undefined if other processes cannot map the memory safely. */
  readonly #chunk: Chunk | undefined

  /** @internal */
  constructor(parts: PoolParts & { readonly rights: Rights }) {
    super()
    this.gate.notCloneable = NOT_CLONEABLE
    this.kind = parts.kind
    this.rights = parts.rights
    this.backing = parts.backing
    this.byteSize = parts.byteSize
    this.identity = parts.identity
    this.identityOffset = parts.identityOffset
    this.#parts = parts
    const { mapping, attachment, label } = parts
    this.#lostWrites =
      this.kind === 'file' && this.rights === 'writable'
        ? new LostWrites(label, mapping.address, this.identityOffset, () => this.#fileSize)
        : undefined
    const { buffer, address } = mapping
    // Files are left out, because a process that maps one faults when the file shrinks.
    const isShareable = typeof attachment === 'number' && (parts.backing === 'memfd' || parts.backing === 'posix-shm')
    if (buffer === undefined) return
    if (isShareable) {
      this.#chunk = new Chunk(this.gate, attachment, mapping, parts.rights === 'writable')
      this.#block = Block.ofPart(this.gate, this.#chunk, 0, mapping.byteSize)
    } else this.#block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
  }

  /**
   * The whole pool as a segment, for packages that work on memory. It is dead once the pool is closed.
   *
   * @throws {PoolsError} where the runtime forbids views of native memory, as Electron does.
   */
  get segment(): Segment {
    if (this.#block === undefined)
      throw new PoolsError('GENERAL_FAILURE', 'this runtime forbids views of native memory', {
        hint: 'Use read() and write(), which copy.',
      })
    return new Segment(this.#block, 0, this.memorySize, this.rights === 'writable' ? 0 : READ_ONLY)
  }

  /** Returns a range of the pool as a value, which holds nothing open. @throws {BoundsError} if it reaches outside. */
  slice(byteOffset: number, byteSize?: number, options?: SliceOptions): PoolSlice<Rights> {
    const { dimensions = [], padding = 0 } = checkOptions(options, ['dimensions', 'padding'])
    if (!Array.isArray(dimensions)) throw wrongType('dimensions', 'an array of sizes', dimensions)
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    const [, room] = checkSlice(this.byteSize - offset - size, 0, padding)
    // The slice has copies, which no getter changes after the checks.
    return new PoolSlice(this, offset, size, { dimensions: [...(dimensions as readonly number[])], padding: room })
  }

  /** Copies bytes out. @throws {ScopeClosedError} @throws {BoundsError} */
  read(byteOffset: number, byteSize?: number): Uint8Array<ArrayBuffer> {
    this.checkAlive()
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    const copy = new Uint8Array(size)
    this.copyOut(offset, copy)
    return copy
  }

  /** Copies bytes in. @throws {ReadOnlyError} if the pool is not writable. @throws {ScopeClosedError} @throws {BoundsError} */
  write(byteOffset: number, source: ArrayBufferView | ArrayBuffer): void {
    const bytes = bytesOf(source)
    const offset = checkSize(byteOffset, 'byteOffset')
    // Checked last, because a getter of the source can close the pool.
    this.checkWritable()
    checkSlice(this.byteSize, offset, bytes.length)
    this.copyIn(offset, bytes)
  }

  /**
   * A raw view of all bytes, or of a copy if the pool is not writable. Once the pool is closed, the view is empty, except over
   * memory of the `process` itself.
   *
   * @throws {ScopeClosedError} @throws {PoolsError} as {@link segment}
   */
  view(): DataView {
    return this.segment.view()
  }

  override toString(): string {
    const { label } = this.#parts
    const facts = `${this.kind}, ${this.byteSize} bytes, ${this.rights}, ${this.isAlive ? this.backing : 'closed'}`
    return `Pool ${label === '' ? '' : `${describe(label)} `}(${facts})`
  }

  /** @internal the mapped bytes: more than `byteSize` for an image */
  get memorySize(): number {
    return this.#parts.mapping.byteSize
  }

  /** @internal the memory itself, for kernels; never handed out, and undefined where it can only be copied */
  get place(): { readonly bytes: Buffer; readonly address: number } | undefined {
    return this.#block
  }

  /** @internal copies bytes of the memory out; the caller has checked the range */
  copyOut(byteOffset: number, target: Uint8Array): void {
    this.withAccess(false, () => {
      if (this.#block === undefined) copyMapped(this.#parts.mapping.address + byteOffset, target, false)
      else target.set(this.#block.bytes.subarray(byteOffset, byteOffset + target.length))
    })
  }

  /** @internal copies bytes into the memory; the caller has checked the range */
  copyIn(byteOffset: number, source: Uint8Array): void {
    this.withAccess(true, () => {
      if (this.#block === undefined) copyMapped(this.#parts.mapping.address + byteOffset, source, true)
      else this.#block.bytes.set(source, byteOffset)
    })
  }

  /** @internal copies the value of an argument out: an image overrides this, because its value is in rows */
  copyValueOut(byteOffset: number, target: Uint8Array): void {
    this.copyOut(byteOffset, target)
  }

  /** @internal copies the value of an argument in */
  copyValueIn(byteOffset: number, source: Uint8Array): void {
    this.copyIn(byteOffset, source)
  }

  /** @internal runs a function that reads or writes the memory; device memory is synchronised before and after */
  withAccess<T>(isWriting: boolean, run: () => T): T {
    const { backing, descriptor } = this
    if (backing !== 'dma-buf' || descriptor === undefined) return run()
    accessDmaBuf(descriptor, { isWriting, isEnd: false })
    try {
      return run()
    } finally {
      accessDmaBuf(descriptor, { isWriting, isEnd: true })
    }
  }

  /** @internal the attachment that is sent to drivers; undefined for a pool that came from another process */
  get attachment(): Attachment | undefined {
    return this.#parts.attachment
  }

  /** @internal the descriptor, if the pool has one */
  get descriptor(): number | undefined {
    const { attachment } = this.#parts
    return typeof attachment === 'number' ? attachment : undefined
  }

  /**
   * @internal Whether bytes of a file are missing, or were when they were accessed: the file became shorter, or its file system had no room
   * for bytes that were written. They read as zeros.
   */
  isMissing(byteOffset: number, byteSize: number): boolean {
    if (this.kind !== 'file') return false
    // The rest of the file's last page reads as zeros without a fault.
    const isCut = this.#fileSize < this.identityOffset + byteOffset + byteSize
    return isCut || hasMissingPages(this.#parts.mapping, byteOffset, byteSize)
  }

  get #fileSize(): number {
    return describeDescriptor(this.descriptor!).byteSize
  }

  /** @internal writes changed pages to the file's device */
  sync(): void {
    syncMapping(this.#parts.mapping)
  }

  /** @internal @throws {NativeError} if writes to the mapping did not reach the file */
  checkWritten(): void {
    const lost = this.#lostWrites?.read()
    if (lost !== undefined) throw lost
  }

  /** @internal @throws {ScopeClosedError} @throws {ReadOnlyError} */
  protected checkWritable(): void {
    this.checkAlive()
    if (this.rights !== 'writable') throw new ReadOnlyError(`${this.label} is ${this.rights} and cannot be written`)
  }

  protected override get label(): string {
    const { label } = this.#parts
    return label === '' ? `the ${this.kind} pool` : `the ${this.kind} pool ${describe(label)}`
  }

  protected override release(): void {
    const { attachment, mapping } = this.#parts
    this.#chunk?.end()
    try {
      closeMapping(mapping, this.#block?.exposed === true)
    } finally {
      if (attachment !== undefined) closeAttachment(attachment)
    }
  }
}

const NOT_CLONEABLE = Symbol('pools cannot be posted: use SharedMemory.open() and post its handle()')

/** A range of a pool as an argument. It is a plain value that does not hold the pool open. Made by the pool. */
export class PoolSlice<Rights extends PoolRights = PoolRights> {
  static {
    inspectAsText(this)
  }
  readonly pool: Pool<Rights>
  /** The offset from the start of the pool, in bytes. */
  readonly byteOffset: number
  readonly byteSize: number
  readonly padding: number
  readonly dimensions: readonly number[]

  /** @internal */
  constructor(pool: Pool<Rights>, byteOffset: number, byteSize: number, options: SliceOptions) {
    const { padding = 0, dimensions = [] } = options
    this.pool = pool
    this.byteOffset = byteOffset
    this.byteSize = byteSize
    this.padding = padding
    // A copy, so that a slice is a value: executions keep the requests that they made of it.
    this.dimensions = Object.freeze([...dimensions])
  }

  /** Copies the bytes out. @throws {ScopeClosedError} */
  read(): Uint8Array<ArrayBuffer> {
    return this.pool.read(this.byteOffset, this.byteSize)
  }

  /** Copies bytes in, from the slice's start. @throws {ReadOnlyError} @throws {ScopeClosedError} @throws {BoundsError} */
  write(source: ArrayBufferView | ArrayBuffer): void {
    const bytes = bytesOf(source)
    checkSlice(this.byteSize, 0, bytes.length)
    this.pool.write(this.byteOffset, bytes)
  }

  toString(): string {
    const end = this.byteOffset + this.byteSize
    return `PoolSlice [${this.dimensions.join(', ')}] (bytes ${this.byteOffset} to ${end} of ${this.pool})`
  }
}

export function bytesOf(source: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  if (source instanceof ArrayBuffer) return new Uint8Array(source)
  throw new ArgumentError(`source must be a buffer or a view of one, got ${describe(source)}`)
}

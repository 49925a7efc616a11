import { ArgumentError, ArgumentRangeError, ReadOnlyError, Segment } from '@tenon/core'
import { Block, checkSize, checkSlice, describe, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { operandByteSize, type OperandType } from '../model/operand-types.ts'
import { accessDmaBuf } from '../native/descriptor.ts'
import { closeAttachment, type Attachment } from '../native/link.ts'
import {
  closeMapping,
  copyFromMapping,
  copyToMapping,
  mappingFaults,
  syncMapping,
  type Mapping,
} from '../native/mapping.ts'
import type { PoolBacking, PoolFacts, PoolKind, PoolRights } from './pool-facts.ts'
import { PoolSlice } from './pool-slice.ts'

/** The most bytes of a pool: NNAPI's offsets and lengths have 32 bits. */
export const POOL_MAXIMUM = 0xffff_ffff

/** What a pool is made of. The pool takes the descriptor and the mapping over. */
export interface PoolParts {
  readonly kind: PoolKind
  readonly rights: PoolRights
  readonly backing: PoolBacking
  /** 0 for an image. */
  readonly byteSize: number
  readonly label: string
  /** Memory of this process itself where there are no descriptors. Undefined where only the mapping was kept. */
  readonly attachment: Attachment | undefined
  readonly identity: string
  readonly identityOffset: number
  readonly mapping: Mapping
}

/** What a slice says beside its place. */
export interface SliceOptions {
  /** What the model leaves open. */
  readonly dimensions?: readonly number[]
  /** Bytes after the slice that belong to it but hold no value. */
  readonly padding?: number
}

/**
 * Memory that a framework and a driver share: only its handle crosses between processes. It owns its descriptor and its
 * mapping until it is closed, which is refused while calls use it.
 *
 * Its rights are part of its type: only a `Pool<'writable'>` can take outputs.
 *
 * @example
 * using pool = createPool(1 << 20)
 * pool.write(0, new Float32Array([1, 2, 3]))
 * const input = pool.tensor(0, 'TENSOR_FLOAT32', [3])
 */
export class Pool<Rights extends PoolRights = PoolRights> extends ManagedLifetime implements PoolFacts {
  readonly kind: PoolKind
  readonly rights: Rights
  /** Where the bytes really are: a `device-blob` or `device-image` that isn't a `dma-buf` is emulated. */
  readonly backing: PoolBacking
  readonly byteSize: number
  readonly identity: string
  readonly identityOffset: number
  readonly #label: string
  readonly #parts: PoolParts
  /** Undefined where the runtime forbids views of such memory. */
  readonly #block: Block | undefined

  /** @internal */
  constructor(parts: PoolParts & { readonly rights: Rights }) {
    super()
    this.kind = parts.kind
    this.rights = parts.rights
    this.backing = parts.backing
    this.byteSize = parts.byteSize
    this.identity = parts.identity
    this.identityOffset = parts.identityOffset
    this.#label = parts.label
    this.#parts = parts
    const { buffer, address } = parts.mapping
    this.#block =
      buffer === undefined ? undefined : new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
  }

  /**
   * All of the pool as a segment, for packages that take memory. Dead when the pool is closed.
   *
   * @throws {PoolsError} where the runtime forbids views of such memory, as Electron does: use {@link read} and {@link write}.
   */
  get segment(): Segment {
    if (this.#block === undefined)
      throw new PoolsError('GENERAL_FAILURE', 'this runtime forbids views of memory that is not its own', {
        hint: 'use read() and write(), which copy.',
      })
    return new Segment(this.#block, 0, this.memorySize, this.rights === 'writable' ? 0 : READ_ONLY)
  }

  /** A range of the pool: a value that holds nothing open. @throws {BoundsError} if it reaches outside. */
  slice(byteOffset: number, byteSize?: number, options: SliceOptions = {}): PoolSlice<Rights> {
    const { dimensions = [], padding = 0 } = options
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    checkSlice(this.byteSize - offset - size, 0, padding)
    return new PoolSlice(this, offset, size, padding, dimensions)
  }

  /**
   * The range of a value of a type, with all its dimensions.
   *
   * @throws {ArgumentRangeError} if dimensions are 0 or missing. @throws {BoundsError} if it reaches outside.
   */
  tensor(byteOffset: number, type: OperandType, dimensions: readonly number[]): PoolSlice<Rights> {
    const byteSize = operandByteSize(type, dimensions, 'tensor')
    if (byteSize === 0) {
      throw new ArgumentRangeError(`dimensions must all be known and above 0, got [${dimensions.join(', ')}]`)
    }
    return this.slice(byteOffset, byteSize, { dimensions })
  }

  /** Copies bytes out. @throws {ScopeClosedError} @throws {BoundsError} */
  read(byteOffset: number, byteSize?: number): Uint8Array<ArrayBuffer> {
    this.checkAlive()
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    const copy = new Uint8Array(size)
    this.copyOut(offset, copy)
    return copy
  }

  /** Copies bytes in. @throws {ReadOnlyError} if the pool isn't writable. @throws {ScopeClosedError} @throws {BoundsError} */
  write(byteOffset: number, source: ArrayBufferView | ArrayBuffer): void {
    this.checkWritable()
    const bytes = bytesOf(source)
    const offset = checkSize(byteOffset, 'byteOffset')
    checkSlice(this.byteSize, offset, bytes.length)
    this.copyIn(offset, bytes)
  }

  /**
   * A raw view of all bytes, of a copy if the pool isn't writable. It is empty once the pool is closed, but if its memory is
   * the `process`'s own.
   *
   * @throws {ScopeClosedError} @throws {PoolsError} as {@link segment}
   */
  view(): DataView {
    return this.segment.view()
  }

  /** @internal what is mapped, in bytes: more than `byteSize` for an image */
  get memorySize(): number {
    return this.#parts.mapping.byteSize
  }

  /** @internal the bytes themselves, for kernels; never handed out, and undefined where they can only be copied */
  get bytes(): Buffer | undefined {
    return this.#block?.bytes
  }

  /** @internal where the bytes are, for kernels */
  get address(): number {
    return this.#parts.mapping.address
  }

  /** @internal copies bytes of the memory out; the caller has checked the range */
  copyOut(byteOffset: number, target: Uint8Array): void {
    this.withAccess(false, () => {
      if (this.#block === undefined) copyFromMapping(this.#parts.mapping, byteOffset, target)
      else target.set(this.#block.bytes.subarray(byteOffset, byteOffset + target.length))
    })
  }

  /** @internal copies bytes into the memory; the caller has checked the range */
  copyIn(byteOffset: number, source: Uint8Array): void {
    this.withAccess(true, () => {
      if (this.#block === undefined) copyToMapping(this.#parts.mapping, byteOffset, source)
      else this.#block.bytes.set(source, byteOffset)
    })
  }

  /** @internal copies the value of an argument out, which an image has in rows */
  copyValueOut(byteOffset: number, target: Uint8Array): void {
    this.copyOut(byteOffset, target)
  }

  /** @internal copies the value of an argument in */
  copyValueIn(byteOffset: number, source: Uint8Array): void {
    this.copyIn(byteOffset, source)
  }

  /** @internal runs what reads or writes the memory; that of a device is synchronised before and after */
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

  /** @internal what is sent to drivers; undefined for a pool that came from elsewhere */
  get attachment(): Attachment | undefined {
    return this.#parts.attachment
  }

  /** @internal its descriptor, if it has one */
  get descriptor(): number | undefined {
    const { attachment } = this.#parts
    return typeof attachment === 'number' ? attachment : undefined
  }

  /** @internal how often pages of the file were missing */
  get faults(): number {
    return mappingFaults(this.#parts.mapping)
  }

  /** @internal brings what was written to the file's device */
  sync(): void {
    syncMapping(this.#parts.mapping)
  }

  /** @internal @throws {ScopeClosedError} @throws {ReadOnlyError} */
  protected checkWritable(): void {
    this.checkAlive()
    if (this.rights !== 'writable') throw new ReadOnlyError(`${this.label} is ${this.rights} and can't be written`)
  }

  protected override get label(): string {
    return this.#label === '' ? `the ${this.kind} pool` : `the ${this.kind} pool ${describe(this.#label)}`
  }

  protected override release(): void {
    const { attachment, mapping } = this.#parts
    try {
      closeMapping(mapping, this.#block?.exposed === true)
    } finally {
      if (attachment !== undefined) closeAttachment(attachment)
    }
  }
}

/** The bytes of what users give to be copied. @throws {ArgumentError} */
export function bytesOf(source: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  if (source instanceof ArrayBuffer) return new Uint8Array(source)
  throw new ArgumentError(`source must be a buffer or a view of one, got ${describe(source)}`)
}

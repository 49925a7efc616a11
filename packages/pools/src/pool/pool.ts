import { ArgumentError, ArgumentRangeError, ReadOnlyError, Segment } from '@tenon/core'
import { Block, checkSize, checkSlice, describe, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { closeDescriptor } from '../native/descriptor.ts'
import { closeMapping, mappingFaults, syncMapping, type Mapping } from '../native/mapping.ts'
import { operandByteSize, type OperandType } from '../model/operand-types.ts'
import type { PoolFacts, PoolKind, PoolRights } from './pool-facts.ts'
import { PoolSlice } from './pool-slice.ts'

/** The most bytes of a pool: NNAPI's offsets and lengths have 32 bits. */
export const POOL_MAXIMUM = 0xffff_ffff

/** What a pool is made of. The pool takes the descriptor and the mapping over. */
export interface PoolParts {
  readonly kind: PoolKind
  readonly rights: PoolRights
  readonly byteSize: number
  readonly label: string
  /** Undefined where only the mapping was kept: such a pool can't be sent on. */
  readonly descriptor: number | undefined
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
  readonly byteSize: number
  readonly identity: string
  readonly identityOffset: number
  readonly #label: string
  readonly #parts: PoolParts
  readonly #block: Block

  /** @internal */
  constructor(parts: PoolParts & { readonly rights: Rights }) {
    super()
    this.kind = parts.kind
    this.rights = parts.rights
    this.byteSize = parts.byteSize
    this.identity = parts.identity
    this.identityOffset = parts.identityOffset
    this.#label = parts.label
    this.#parts = parts
    const { buffer, address } = parts.mapping
    this.#block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
  }

  /** All of the pool as a segment, for packages that take memory. Dead when the pool is closed. */
  get segment(): Segment {
    return new Segment(this.#block, 0, this.byteSize, this.rights === 'writable' ? 0 : READ_ONLY)
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
    copy.set(this.#block.bytes.subarray(offset, offset + size))
    return copy
  }

  /** Copies bytes in. @throws {ReadOnlyError} if the pool isn't writable. @throws {ScopeClosedError} @throws {BoundsError} */
  write(byteOffset: number, source: ArrayBufferView | ArrayBuffer): void {
    this.checkAlive()
    if (this.rights !== 'writable') throw new ReadOnlyError(`${this.label} is ${this.rights} and can't be written`)
    const bytes = bytesOf(source)
    const offset = checkSize(byteOffset, 'byteOffset')
    checkSlice(this.byteSize, offset, bytes.length)
    this.#block.bytes.set(bytes, offset)
  }

  /**
   * A raw view of all bytes, of a copy if the pool isn't writable. It is empty once the pool is closed.
   *
   * @throws {ScopeClosedError}
   */
  view(): DataView {
    return this.segment.view()
  }

  /** @internal the bytes themselves, for kernels; never handed out */
  get bytes(): Buffer {
    return this.#block.bytes
  }

  /** @internal where the bytes are, for kernels */
  get address(): number {
    return this.#block.address
  }

  /** @internal the descriptor that is sent to drivers; undefined for a pool that came from elsewhere */
  get descriptor(): number | undefined {
    return this.#parts.descriptor
  }

  /** @internal how often pages of the file were missing */
  get faults(): number {
    return mappingFaults(this.#parts.mapping)
  }

  /** @internal brings what was written to the file's device */
  sync(): void {
    syncMapping(this.#parts.mapping)
  }

  protected override get label(): string {
    return this.#label === '' ? `the ${this.kind} pool` : `the ${this.kind} pool ${describe(this.#label)}`
  }

  protected override release(): void {
    const { descriptor, mapping } = this.#parts
    try {
      closeMapping(mapping, this.#block.exposed)
    } finally {
      if (descriptor !== undefined) closeDescriptor(descriptor)
    }
  }
}

function bytesOf(source: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  if (source instanceof ArrayBuffer) return new Uint8Array(source)
  throw new ArgumentError(`source must be a buffer or a view of one, got ${describe(source)}`)
}

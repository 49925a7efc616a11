import { ScopeClosedError } from '../errors/kinds.ts'
import { detachBuffer, isDetached } from './array-buffer.ts'
import { globalGate } from './global-lifetime.ts'
import type { Gate } from './lifetime.ts'
import type { SharedChunk } from './shared-chunk.ts'

/** Memory of which blocks are parts: a slab, or memory that processes share. */
export interface PartSource {
  readonly buffer: ArrayBufferLike
  /** The address of the first byte. */
  readonly address: number
  /** The offset of the first byte in the buffer. */
  readonly start: number
  /** The chunk that has the memory, if other processes can map it. */
  readonly shared?: SharedChunk | undefined
  /** Returns a buffer over exactly these bytes, counted from the first byte. It keeps the memory as long as it needs. */
  bufferOf(byteOffset: number, byteSize: number): ArrayBufferLike
}

/**
 * A chunk of memory on loan to one lifetime, with one view and one address for all segments in it. When the chunk is
 * lent again, it gets a new block with the new borrower's gate, so that segments of the earlier loan stay dead.
 *
 * A block of a part of a slab makes its view and bytes when they are first used. Until it is exposed, their buffer has memory
 * of others as well, so code that lets the buffer out calls {@link expose} before it reads them.
 */
export class Block {
  readonly gate: Gate
  /** The address of the first byte of `view`, as a number: addresses of user space are below 2^53. */
  readonly address: number
  /**
   * The offset of `address` from a multiple of 8. It is a small integer: testing the address itself costs three times as
   * much.
   */
  readonly skew: number
  /** Whether a raw view of the memory was handed out. Such a chunk is never lent again. */
  exposed: boolean
  private ownView: DataView | undefined
  private ownBytes: Buffer | undefined
  private readonly slab: PartSource | undefined
  /** The size of a part of a slab in bytes. */
  private readonly partSize: number

  constructor(gate: Gate, view: DataView, bytes: Buffer, address: number)
  /** @internal The view and the bytes are those of an earlier block of the part, if it has made them. */
  constructor(
    gate: Gate,
    view: DataView | undefined,
    bytes: Buffer | undefined,
    address: number,
    slab: PartSource,
    partSize: number,
  )
  constructor(
    gate: Gate,
    view: DataView | undefined,
    bytes: Buffer | undefined,
    address: number,
    slab?: PartSource,
    partSize: number = 0,
  ) {
    this.gate = gate
    this.ownView = view
    this.ownBytes = bytes
    this.address = address
    this.skew = address & 7
    this.exposed = false
    this.slab = slab
    this.partSize = partSize
  }

  /** Returns the block of a part. @param byteSize at least 1, because an empty block looks detached. */
  static ofPart(gate: Gate, slab: PartSource, offset: number, byteSize: number): Block {
    return new Block(gate, undefined, undefined, slab.address + offset, slab, byteSize)
  }

  /** The chunk that has the memory, if other processes can map it. It may be closed. */
  get shared(): SharedChunk | undefined {
    return this.slab?.shared
  }

  /** The memory as a view. It becomes another one when the block is exposed, so it is not kept across calls. */
  get view(): DataView {
    return this.ownView ?? this.makeView()
  }

  /** The bytes of `view`. */
  get bytes(): Buffer {
    return this.ownBytes ?? this.makeBytes()
  }

  /** @internal Whether the engine has a buffer over the memory, which is made when the view or the bytes are first used. */
  get hasBuffer(): boolean {
    return this.ownView !== undefined || this.ownBytes !== undefined
  }

  /** @internal Whether the block is a pointer of unknown size. */
  get isPointer(): boolean {
    return this.ownBytes === noBytes
  }

  private makeView(): DataView {
    const { buffer, start, address } = this.slab!
    return (this.ownView = new DataView(buffer, start + this.address - address, this.partSize))
  }

  private makeBytes(): Buffer {
    const { buffer, start, address } = this.slab!
    return (this.ownBytes = Buffer.from(buffer as ArrayBuffer, start + this.address - address, this.partSize))
  }

  /** @internal Sets the view of a pointer. */
  show(view: DataView): void {
    this.ownView = view
  }

  /** @internal Returns a block over the same memory for another lifetime. The block must not be exposed. */
  withGate(gate: Gate): Block {
    const { ownView, ownBytes, address, slab, partSize } = this
    if (slab === undefined) return new Block(gate, ownView!, ownBytes!, address)
    return new Block(gate, ownView, ownBytes, address, slab, partSize)
  }

  /** @internal Takes the memory away: each use throws from now on, as after a transfer of the buffer. */
  abandon(): void {
    this.ownView = moved.view
    this.ownBytes = moved.bytes
    this.exposed = true
    // Calls look at the memory of their operands again.
    exposures.count++
  }

  /** @internal Gives a part of a slab a buffer over exactly its bytes. Views that were made before go on to work. */
  separate(): void {
    const { slab } = this
    if (slab === undefined || this.exposed) return
    const buffer = slab.bufferOf(this.address - slab.address, this.partSize)
    this.ownView = new DataView(buffer)
    // Made now, because the user can transfer the buffer away.
    this.ownBytes = Buffer.from(buffer)
  }
}

/** The first view of each pointer of unknown size. Users never get its buffer. */
export const pointedView: DataView<ArrayBuffer> = new DataView(new ArrayBuffer(8))

/** The view and the bytes of all memory that was moved to another lifetime. They are detached. */
const moved = makeMoved()

function makeMoved(): { readonly view: DataView; readonly bytes: Buffer } {
  const buffer = new ArrayBuffer(1)
  const made = { view: new DataView(buffer), bytes: Buffer.from(buffer) }
  detachBuffer(buffer)
  return made
}

/** The bytes of all pointers of unknown size. */
export const noBytes: Buffer = Buffer.alloc(0)

/**
 * Whether a block is a pointer of unknown size, which has an address and no memory of its own. Its view shows what was read through it
 * last, and is not for users.
 */
export const isPointer = (block: Block): boolean => block.isPointer

/**
 * Returns the chunk of shared memory that has all bytes of a tensor or segment, or undefined if other processes cannot map its
 * memory. The offset in the chunk is `tensor.address - chunk.address`, or `Number(segment.address) - chunk.address`.
 */
export function sharedChunkOf({ block }: { readonly block: Block }): SharedChunk | undefined {
  const { shared } = block
  return shared?.isAlive === true ? shared : undefined
}

/** Maps the buffer of each raw view to the gate of the lifetime that owns it. */
const gates = new WeakMap<ArrayBufferLike, Gate>()

/** The number of blocks of this thread of which a raw view was handed out, and how many of them the garbage collector frees. */
export const exposures: { count: number; collected: number } = { count: 0, collected: 0 }

/**
 * Records that a raw view was handed out: the chunk is never lent again, and {@link gateOfBuffer} finds its gate. A part of a
 * slab gets a buffer of its own, so the view and the bytes of the block must be read after this call. A pointer of unknown size has
 * no memory, so there is nothing to record.
 *
 * @throws {NativeError} if the engine refuses a buffer. The block is not exposed then.
 */
export function expose(block: Block): void {
  if (block.exposed || isPointer(block)) return
  block.separate()
  block.exposed = true
  exposures.count++
  if (block.gate === globalGate) exposures.collected++
  gates.set(block.view.buffer, block.gate)
}

/** The gate of the memory behind a raw view's buffer. Whatever is made from the buffer must end with that lifetime. */
export function gateOfBuffer(buffer: ArrayBufferLike): Gate | undefined {
  return gates.get(buffer)
}

/** @throws {ScopeClosedError | WrongThreadError} if the lifetime is closed, or a raw view's buffer was transferred. */
export function checkUsable(block: Block): void {
  if (!block.gate.alive) block.gate.owner.checkAlive()
  if (block.exposed) checkAttached(block)
}

/** @throws as {@link checkUsable}, and once closing has begun. */
export function checkEnterable(block: Block): void {
  if (!block.gate.open) block.gate.owner.checkOpen()
  if (block.exposed) checkAttached(block)
}

function checkAttached({ view }: Block): void {
  if (!isDetached(view.buffer)) return
  if (view === moved.view) {
    throw new ScopeClosedError('the memory was moved to another scope', {
      hint: 'Use the segment that moveTo() has returned.',
    })
  }
  throw new ScopeClosedError('the memory was detached through its buffer', {
    hint: 'Never transfer the buffer of a raw view: copy it, or hand its scope off.',
  })
}

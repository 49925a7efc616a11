import { ScopeClosedError } from '../errors/kinds.ts'
import { isDetached } from './array-buffer.ts'
import type { Gate } from './lifetime.ts'

/**
 * A chunk of memory on loan to one lifetime, with one view and one address for all segments in it. When the chunk is
 * lent again, it gets a new block with the new borrower's gate, so that segments of the earlier loan stay dead.
 */
export class Block {
  readonly gate: Gate
  readonly view: DataView
  readonly bytes: Buffer
  /** The address of the first byte of `view`, as a number: addresses of user space are below 2^53. */
  readonly address: number
  /**
   * The offset of `address` from a multiple of 8. It is a small integer: testing the address itself costs three times as
   * much.
   */
  readonly skew: number
  /** Whether a raw view of the memory was handed out. Such a chunk is never lent again. */
  exposed: boolean

  constructor(gate: Gate, view: DataView, bytes: Buffer, address: number) {
    this.gate = gate
    this.view = view
    this.bytes = bytes
    this.address = address
    this.skew = address & 7
    this.exposed = false
  }
}

/** Maps the buffer of each raw view to the gate of the lifetime that owns it. */
const gates = new WeakMap<ArrayBufferLike, Gate>()

/** The number of blocks of this thread of which a raw view was handed out. */
export const exposures: { count: number } = { count: 0 }

/** Records that a raw view was handed out: the chunk is never lent again, and {@link gateOfBuffer} finds its gate. */
export function expose(block: Block): void {
  if (block.exposed) return
  block.exposed = true
  exposures.count++
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
  throw new ScopeClosedError('the memory was detached through its buffer', {
    hint: 'Never transfer the buffer of a raw view: copy it, or hand its scope off.',
  })
}

import { ScopeClosedError } from '../errors/kinds.ts'
import type { Gate } from './gate.ts'

/**
 * A chunk of memory on loan to one lifetime: one view and one address for all segments in it. When a chunk is lent
 * again, it gets a new block with the new borrower's gate, so that segments of the earlier loan stay dead.
 */
export class Block {
  readonly gate: Gate
  readonly view: DataView
  readonly bytes: Buffer
  /** Where `view` starts, as a number: addresses of user space are below 2^53. */
  readonly address: number
  /**
   * How far `address` is from a multiple of 8: a small number, where tests of the address itself cost three times as
   * much.
   */
  readonly skew: number
  /** Set once a raw view of the memory was handed out: such a chunk is never lent again. */
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

/** Whose the buffers of raw views are. */
const gates = new WeakMap<ArrayBufferLike, Gate>()

/** Notes that a raw view is handed out: the chunk is never lent again, and its buffer tells whose it is. */
export function expose(block: Block): void {
  if (block.exposed) return
  block.exposed = true
  gates.set(block.view.buffer, block.gate)
}

/** The gate of the memory that a buffer shows, if it is that of a raw view: what is made of the buffer must end with it. */
export function gateOfBuffer(buffer: ArrayBufferLike): Gate | undefined {
  return gates.get(buffer)
}

/**
 * Checks that the memory of a block is there.
 *
 * @throws {ScopeClosedError | WrongThreadError} if its lifetime is closed, or a user transferred the buffer of a raw view
 * away: then the address is nobody's.
 */
export function checkUsable({ gate, exposed, view }: Block): void {
  if (!gate.alive) gate.owner.checkAlive()
  if (exposed && view.buffer instanceof ArrayBuffer && view.buffer.detached) {
    throw new ScopeClosedError('the memory was detached through its buffer', {
      hint: 'never transfer the buffer of a raw view: copy it, or hand its scope off.',
    })
  }
}

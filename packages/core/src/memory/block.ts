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
  /** Set once a raw view of the memory was handed out: such a chunk is never lent again. */
  exposed: boolean

  constructor(gate: Gate, view: DataView, bytes: Buffer, address: number) {
    this.gate = gate
    this.view = view
    this.bytes = bytes
    this.address = address
    this.exposed = false
  }
}

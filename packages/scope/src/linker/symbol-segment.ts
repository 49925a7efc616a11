import { Block, type Gate } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'

const bytes = Buffer.alloc(0)
const view = new DataView(new ArrayBuffer(0))

/** Native code as a segment: an address with a lifetime, without memory to read. */
export class SymbolSegment extends MemorySegment {
  /** The name of the code in messages. */
  readonly name: string

  constructor(gate: Gate, address: number, name: string) {
    super(new Block(gate, view, bytes, address), 0, 0, 0)
    this.name = name
  }

  override toString(): string {
    return `${this.name}, a ${super.toString()}`
  }
}

import { Block, type Gate } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'

const names = new WeakMap<Block, string>()
const bytes = Buffer.alloc(0)
const view = new DataView(new ArrayBuffer(0))

/** Native code as a segment: an address with a lifetime, and no memory to read. */
export function symbolSegment(gate: Gate, address: number, name: string): MemorySegment {
  const block = new Block(gate, view, bytes, address)
  names.set(block, name)
  return new MemorySegment(block, 0, 0, 0)
}

/** What messages call native code. */
export function symbolName(symbol: MemorySegment): string {
  return names.get(symbol.block) ?? 'the function'
}

/**
 * Addresses of pointers. Those of memory are numbers. A pointer of C can also have bits that a number does not hold, as `(void *)-1`
 * has; nothing can be read there, so such a pointer is a block without memory, whose address is kept here.
 */
import { Block, noBytes, pointedView } from './block.ts'
import type { Gate } from './lifetime.ts'

/** The `address` of a block that is not memory, or whose address is 2^53 or above. */
export const NO_ADDRESS = -1

/** The addresses of 2^53 and above. */
const addresses = new WeakMap<Block, bigint>()

/** Returns a block of 0 bytes at an address. @param address a bigint from 2^53 to 2^64 - 1, or a number below. */
export function pointerBlock(gate: Gate, address: number | bigint): Block {
  if (typeof address === 'number') return new Block(gate, pointedView, noBytes, address)
  const block = new Block(gate, pointedView, noBytes, NO_ADDRESS)
  addresses.set(block, address)
  return block
}

/** The address of a place in a block: a bigint from 2^53 on. Undefined if the block is not a pointer. */
export function addressIn(block: Block, base: number): number | bigint | undefined {
  return block.address === NO_ADDRESS ? addresses.get(block) : block.address + base
}

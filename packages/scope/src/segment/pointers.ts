/**
 * Pointers from native code. Those of memory that lies close together share a block, so that making one takes only its segment, and so
 * that reading through one takes as long as reading a segment.
 */
import {
  ADDRESS_SPACE_END,
  addressOf,
  type Block,
  bufferOver,
  coreFunctions,
  pointedView,
  pointerBlock,
} from '@tenon/core/internal'
import { globalScope } from '../scope/gc-scopes.ts'

/** The bytes of a region, which begins at a multiple of its size. */
const REGION_SIZE = 2 ** 20
const PER_REGION: number = 1 / REGION_SIZE

/** The number of regions that are kept. A power of two. */
const REGIONS = 64

/** The number of reads in a region after which it gets a window. */
const READS_BEFORE_WINDOW = 8

/** Memory whose pointers share a block. */
interface Region {
  /** The block, whose address is the start of the region. */
  readonly block: Block
  reads: number
  /** A view of the whole region, of which only the bytes of reads are accessed, because others may be unmapped. */
  window: DataView | undefined
}

const newRegion = (start: number): Region => ({
  block: pointerBlock(globalScope.gate, start),
  reads: 0,
  window: undefined,
})

/** The null pointer and its neighbours have blocks of their own. */
const regions: Region[] = new Array<Region>(REGIONS).fill(newRegion(0))
let last: Block = regions[0]!.block
let lastStart = -1

/**
 * The engine counts the bytes of each window as memory that a collection might free. With each window that is replaced, more reads are
 * needed for the next, so that reads all over the memory of a process do not make the collector run.
 */
let needed = READS_BEFORE_WINDOW

/** Returns the block of a pointer. The place in the block is the difference of the address and that of the block. */
export function blockOfPointer(address: number | bigint): Block {
  if (typeof address === 'number') {
    const offset = address - lastStart
    if (offset >= 0 && offset < REGION_SIZE && lastStart !== -1) return last
    if (address >= REGION_SIZE && address < ADDRESS_SPACE_END) return blockElsewhere(Math.floor(address * PER_REGION))
  }
  return pointerBlock(globalScope.gate, address)
}

function blockElsewhere(index: number): Block {
  const place = index & (REGIONS - 1)
  const start = index * REGION_SIZE
  let region = regions[place]!
  if (region.block.address !== start) {
    if (region.window !== undefined) needed *= 2
    region = newRegion(start)
    regions[place] = region
  }
  last = region.block
  lastStart = start
  return last
}

/** Whether the view of a pointer has the bytes at an offset. */
export function isInWindow({ view }: Block, at: number, byteSize: number): boolean {
  return view !== pointedView && at + byteSize <= REGION_SIZE
}

/**
 * Lets the view of a pointer show the bytes at an address of memory, and returns their offset in this view. Nothing checks that the
 * address is valid.
 *
 * @param at the offset of the address in the block.
 */
export function showPointed(block: Block, at: number, byteSize: number): number {
  if (isInWindow(block, at, byteSize)) return at
  const region = regions[Math.floor(block.address * PER_REGION) & (REGIONS - 1)]!
  if (region.block === block && at + byteSize <= REGION_SIZE && hasWindow(region)) {
    block.show(region.window!)
    return at
  }
  block.show(pointedView)
  fetch(block.address + at, byteSize)
  return 0
}

function hasWindow(region: Region): boolean {
  if (region.window !== undefined) return true
  if (++region.reads < needed) return false
  try {
    region.window = new DataView(bufferOver(region.block.address, REGION_SIZE))
    return true
  } catch {
    // The runtime has no such buffers, as Electron does not.
    needed = Infinity
    return false
  }
}

let target: number | undefined

/** Copies the bytes at an address to the view of all pointers without a window. */
function fetch(address: number, byteSize: number): void {
  coreFunctions().tn_memory_copy((target ??= addressOf(pointedView)), address, byteSize)
}

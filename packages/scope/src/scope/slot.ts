import { AllocationError } from '@tenon/core'
import { Block, type Gate, hasSlabs, partBuffers, Slab } from '@tenon/core/internal'
import { SMALLEST_CHUNK } from './chunk-pool.ts'
import { detach, retire, zero } from './chunk.ts'

/** The size of a slot, in bytes. */
export const SLOT_SIZE: number = SMALLEST_CHUNK

/** The number of slots in a slab. */
const SLOTS = 64

const SLAB_SIZE = SLOTS * SLOT_SIZE

/** The limit of the memory of slabs that lend no slot, in bytes. */
const UNUSED_BYTES = 1024 * 1024

/** The buffers over slots that may wait for the garbage collector and the event loop. Beyond this number, no slab is made. */
const MOST_BUFFERS = 4096

/** A slab that is divided into slots. */
class SlotSlab {
  readonly slab: Slab = new Slab(SLAB_SIZE)
  readonly view: DataView
  readonly bytes: Buffer
  /** The slots that were given back. They are zeroed. */
  free: Slot[] = []
  /** The number of slots that were ever lent. */
  made = 0
  /** The number of slots on loan, or lost with arenas that were collected unclosed. */
  lent = 0
  /** Whether {@link unusedBytes} counts the slab. */
  isUnused = false
  /** Whether a buffer of a user reaches the memory, so that only the garbage collector can free it. */
  isReached = false
  /** Whether {@link lenders} has the slab. */
  isLender = true

  constructor() {
    const { buffer, start } = this.slab
    this.view = new DataView(buffer, start)
    this.bytes = Buffer.from(buffer, start)
  }
}

/** The slabs with slots to lend, and slabs that have none any more. The last one lends first. */
let lenders: SlotSlab[] = []

/** The memory of the lenders of which no slot is on loan, in bytes. */
let unusedBytes = 0

/**
 * A part of a slab that one arena borrows: its first memory. Later arenas borrow it too, unless a raw view of it was handed out.
 * Their blocks share the view, and the bytes that the first of them has made.
 */
export class Slot {
  /** @internal */
  readonly home: SlotSlab
  readonly slab: Slab
  readonly offset: number
  readonly address: number
  readonly size: number = SLOT_SIZE
  /** Made at once: where blocks make their views at the first access, every access takes 0.2 ns longer. */
  readonly view: DataView
  bytes: Buffer | undefined = undefined

  /** @internal */
  constructor(home: SlotSlab, offset: number) {
    this.home = home
    this.slab = home.slab
    this.offset = offset
    this.address = home.slab.address + offset
    this.view = new DataView(home.slab.buffer, home.slab.start + offset, SLOT_SIZE)
  }

  /** Returns a block for a lifetime that borrows the slot. */
  blockFor(gate: Gate): Block {
    return new Block(gate, this.view, this.bytes, this.address, this.slab, SLOT_SIZE)
  }
}

/** The slot that is lent next. Its slab counts it as lent, so that arenas that open and close in turn count nothing. */
let spare: Slot | undefined

/** Ends the loan of a slot to the lifetime of the block, which is closed. Zeroes the first `used` bytes. */
export function giveSlot(slot: Slot, block: Block, used: number): void {
  const { home } = slot
  if (block.exposed) {
    home.isReached = true
    retire(block.view)
    endLoan(home)
  } else {
    zero(home, slot.offset, used)
    slot.bytes = block['ownBytes']
    if (spare === undefined) spare = slot
    else returnSlot(slot)
  }
}

function returnSlot(slot: Slot): void {
  const { home } = slot
  home.free.push(slot)
  if (!home.isLender) {
    home.isLender = true
    lenders.push(home)
  }
  endLoan(home)
}

function endLoan(home: SlotSlab): void {
  home.lent--
  if (home.lent > 0 || !home.isLender) return
  home.isUnused = true
  unusedBytes += SLAB_SIZE
  if (unusedBytes > UNUSED_BYTES) release(home)
}

/** Lends a zeroed slot. Returns undefined where memory cannot be shared, or while too many slots have raw views. */
export function takeSlot(): Slot | undefined {
  if (spare === undefined) return lendSlot()
  const slot = spare
  spare = undefined
  return slot
}

function lendSlot(): Slot | undefined {
  for (;;) {
    const home = lenders[lenders.length - 1] ?? newLender()
    if (home === undefined) return undefined
    if (home.isUnused) endUnused(home)
    const slot = home.free.pop() ?? nextSlot(home)
    if (slot !== undefined) {
      home.lent++
      return slot
    }
    home.isLender = false
    lenders.pop()
  }
}

function nextSlot(home: SlotSlab): Slot | undefined {
  return home.made === SLOTS ? undefined : new Slot(home, home.made++ * SLOT_SIZE)
}

function newLender(): SlotSlab | undefined {
  if (!hasSlabs() || partBuffers() > MOST_BUFFERS) return undefined
  try {
    const home = new SlotSlab()
    lenders.push(home)
    return home
  } catch (error) {
    // Opening an arena takes a slot, and does not throw. Its first allocation does, if memory is still exhausted.
    if (error instanceof AllocationError) return undefined
    throw error
  }
}

function endUnused(home: SlotSlab): void {
  home.isUnused = false
  unusedBytes -= SLAB_SIZE
}

/** Frees an unused slab. It stays in {@link lenders} and lends nothing, because looking for it there would take long. */
function release(home: SlotSlab): void {
  endUnused(home)
  home.free = []
  home.made = SLOTS
  if (!home.isReached) detach(home.view)
}

/** Gives the memory of unused slots back. Slabs of which slots are on loan follow when all are closed or collected. */
export function trimSlots(): void {
  if (spare !== undefined) returnSlot(spare)
  spare = undefined
  for (const home of lenders) {
    home.isLender = false
    if (home.isUnused) release(home)
  }
  lenders = []
}

/** The memory that later arenas can borrow, in bytes. */
export function unusedSlotBytes(): number {
  const count = lenders.reduce((sum, { free, made }) => sum + free.length + SLOTS - made, spare === undefined ? 0 : 1)
  return count * SLOT_SIZE
}

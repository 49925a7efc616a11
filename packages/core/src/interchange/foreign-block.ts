import { isDetached, isResizable } from '../memory/array-buffer.ts'
import { Block, gateOfBuffer } from '../memory/block.ts'
import { checkAddress, foreignBlock } from '../memory/foreign-memory.ts'
import { globalGate } from '../memory/global-lifetime.ts'
import { Gate } from '../memory/lifetime.ts'
import { addressOf } from '../native/native-memory.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { checkSize } from '../errors/check-arguments.ts'

/** The owner and the hold with which a producer keeps its memory alive. */
export interface Keeper {
  readonly owner: object | undefined
  /** Returns a hold. Undefined if only the garbage collector ends the memory. */
  readonly hold: (() => unknown) | undefined
}

const NO_KEEPER: Keeper = { owner: undefined, hold: undefined }

/** The block of each buffer, or of its owner, because making one takes longer than everything else. */
const blocks = new WeakMap<object, Block>()

/** Keeps the owner of memory as long as its block. */
const owners = new WeakMap<Block, object>()

/**
 * Returns the block over a whole buffer of another library. It counts as exposed, because the user can transfer the buffer at any time.
 *
 * @param place for messages. @throws {ArgumentError} if the buffer is detached or resizable.
 */
export function blockOf(buffer: ArrayBufferLike, place: string, keeper: Keeper = NO_KEEPER): Block {
  const key = keeper.owner ?? buffer
  const known = blocks.get(key)
  if (known !== undefined && known.view.buffer === buffer && !isDetached(buffer) && isCurrent(known, keeper))
    return known
  if (isDetached(buffer)) {
    throw new ArgumentError(`${place} must be attached, got one of a detached buffer`, {
      hint: 'Use the buffer that transfer() returned, or the thread that received it.',
    })
  }
  if (isResizable(buffer)) {
    throw new ArgumentError(`${place} must have a buffer of a fixed size, got a resizable one`, {
      hint: 'Copy the values with tensor(dtype, shape, array).',
    })
  }
  const gate = gateOfBuffer(buffer) ?? gateOf(keeper)
  const block = new Block(gate, new DataView(buffer), Buffer.from(buffer as ArrayBuffer), addressOf(buffer))
  block.exposed = true
  if (keeper.owner !== undefined) owners.set(block, keeper.owner)
  blocks.set(key, block)
  return block
}

/** Whether the memory of a block still has the lifetime that its buffer has now. */
function isCurrent({ gate }: Block, { hold }: Keeper): boolean {
  if (gate instanceof HeldGate) return hold !== undefined
  return hold === undefined && (gate === globalGate || gate.open)
}

/** Returns a block over memory at an address, which is believed. @throws {ArgumentError | ArgumentRangeError} */
export function blockAt(address: unknown, byteSize: unknown, keeper: Keeper = NO_KEEPER): Block {
  const size = checkSize(byteSize, 'byteSize')
  const block = foreignBlock(gateOf(keeper), checkAddress(address), size)
  // Views of the memory keep the buffer, and so the owner.
  if (keeper.owner !== undefined) owners.set(block, keeper.owner)
  return block
}

const gateOf = ({ hold }: Keeper): Gate => (hold === undefined ? globalGate : new HeldGate(hold))

/** A gate that keeps the memory of a producer open while calls of Tenon are in it. */
export class HeldGate extends Gate {
  readonly #hold: () => unknown
  #held: { release?: () => void } | undefined

  constructor(hold: () => unknown) {
    super(globalGate.owner)
    this.#hold = hold
  }

  /** @throws the error of the producer if the memory is closed. */
  override enter(): void {
    if (this.holds === 0) this.#held = this.#hold() as { release?: () => void }
    super.enter()
  }

  override exit(): void {
    super.exit()
    if (this.holds > 0) return
    const held = this.#held
    this.#held = undefined
    held?.release?.()
  }
}

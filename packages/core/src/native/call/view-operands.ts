/** Typed arrays, Buffers and DataViews as arguments of calls. */
import { isDetached, isResizable } from '../../memory/array-buffer.ts'
import { Block, gateOfBuffer } from '../../memory/block.ts'
import { globalGate } from '../../memory/global-lifetime.ts'
import { NO_ADDRESS } from '../../memory/pointer-address.ts'
import { viewFacts } from '../../types/tensor-arrays.ts'
import { addressOf } from '../native-memory.ts'

interface ViewOperand {
  /** The memory of the buffer. A call holds it. It has no address, because views begin at places of their own. */
  readonly block: Block
  /** The address of the view. */
  readonly address: number
}

/** By views, because reading the buffer of a view takes longer than all the rest. */
const operands = new WeakMap<ArrayBufferView, ViewOperand>()

const blocks = new WeakMap<ArrayBufferLike, Block>()

/** Returns the operand of a view. Undefined if its buffer is detached or resizable, so that its memory may vanish. */
export function operandOfView(view: ArrayBufferView): Block | undefined {
  return operands.get(view)?.block ?? newOperand(view)
}

function newOperand(view: ArrayBufferView): Block | undefined {
  const { buffer, byteOffset, byteLength } = viewFacts(view)
  if (isDetached(buffer) || isResizable(buffer)) return undefined
  let block = blocks.get(buffer)
  if (block === undefined) {
    block = new Block(gateOfBuffer(buffer) ?? globalGate, new DataView(buffer), Buffer.from(buffer), NO_ADDRESS)
    // The user can transfer the buffer at any time.
    block.exposed = true
    blocks.set(buffer, block)
  }
  operands.set(view, { block, address: byteLength === 0 ? 0 : addressOf(buffer) + byteOffset })
  return block
}

/** The address of a view that has an operand. Undefined for others. */
export function addressOfView(view: ArrayBufferView): number | undefined {
  return operands.get(view)?.address
}

/** The reason for which a view cannot be an argument. */
export function reasonAgainst(view: ArrayBufferView): string {
  return isDetached(viewFacts(view).buffer) ? 'detached' : 'resizable'
}

import * as types from 'node:util/types'
import { ArgumentError, ArgumentRangeError, type Segment } from '@tenon/core'
import {
  ADDRESS_SPACE_END,
  addressIn,
  addressOf,
  Block,
  bufferOver,
  checkSize,
  checkUsable,
  expose,
  type Gate,
  gateOfBuffer,
  hex,
  isDetached,
  isPointer,
  isResizable,
  NULL_PAGE,
  pointerBlock,
  wrongType,
} from '@tenon/core/internal'
import { checkFunction } from '../check.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { chunkIn } from '../scope/chunk.ts'
import { globalScope, ImplicitScope } from '../scope/gc-scopes.ts'
import { ManagedScope } from '../scope/managed-scope.ts'

/** Maps each buffer of a user to its block, so that two segments over one buffer have the same scope. */
const userBlocks = new WeakMap<ArrayBufferLike, Block>()

/** Maps the buffer of each raw view to a block over it, which ends with the lifetime that owns the memory. */
const lentBlocks = new WeakMap<ArrayBufferLike, Block>()

export function isUserBlock(block: Block): boolean {
  return block.exposed && userBlocks.get(block.view.buffer)?.bytes === block.bytes
}

/** The memory of a user: the block over its buffer, and its place there. */
interface UserMemory {
  readonly block: Block
  readonly byteOffset: number
  readonly byteSize: number
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array

/** Reads a view by the engine's own getters, because an object of a user can have properties of the same names. */
function place(view: ArrayBufferView): [buffer: ArrayBufferLike, byteOffset: number, byteSize: number] {
  const own = types.isDataView(view) ? DataView.prototype : typedArray
  const read = (name: 'buffer' | 'byteOffset' | 'byteLength'): unknown => Reflect.get(own, name, view)
  // Reading `buffer` moves a small typed array out of the heap for good, so its address is stable from now on.
  return [read('buffer') as ArrayBufferLike, read('byteOffset') as number, read('byteLength') as number]
}

/** The memory of a user's buffer or view, or of a raw view of a segment. @throws {ArgumentError} */
export function memoryOfBuffer(source: ArrayBufferLike | ArrayBufferView): UserMemory {
  if (ArrayBuffer.isView(source)) {
    const [buffer, byteOffset, byteSize] = place(source)
    return { block: blockOfBuffer(buffer), byteOffset, byteSize }
  }
  if (!types.isAnyArrayBuffer(source)) {
    throw wrongType('source', 'an ArrayBuffer, a SharedArrayBuffer or a view of one', source)
  }
  const block = blockOfBuffer(source)
  return { block, byteOffset: 0, byteSize: block.bytes.length }
}

function blockOfBuffer(buffer: ArrayBufferLike): Block {
  if (isDetached(buffer)) {
    throw new ArgumentError('source must be attached, got a detached buffer', {
      hint: 'Use the buffer that transfer() returned, or the thread that received it.',
    })
  }
  checkFixedSize(buffer, 'source')
  const gate = gateOfBuffer(buffer)
  const blocks = gate === undefined ? userBlocks : lentBlocks
  let block = blocks.get(buffer)
  // Memory that was moved has another lifetime.
  if (block === undefined || (gate !== undefined && block.gate !== gate)) {
    const { byteLength: size } = new Uint8Array(buffer)
    const { view, bytes, address } = chunkIn(buffer, 0, size, size === 0 ? 0 : addressOf(buffer))
    block = new Block(gate ?? new ImplicitScope().gate, view, bytes, address)
    // The user may detach the buffer at any time.
    block.exposed = true
    blocks.set(buffer, block)
  }
  return block
}

/** @throws {ArgumentError} if memory could vanish under a segment. */
export function checkFixedSize(buffer: ArrayBufferLike, name: string): void {
  if (!isResizable(buffer)) return
  throw new ArgumentError(`${name} must have a fixed size, got a resizable buffer`, {
    hint: 'Copy it, because memory under a segment must not move or shrink.',
  })
}

type MakeSegment<Made> = (block: Block, base: number, byteSize: number, flags: number) => Made

/** The memory at the segment's address with another size, and with `scope` also with another lifetime. */
export function reinterpret<Made>(
  newSegment: MakeSegment<Made>,
  segment: Segment,
  byteSize: number,
  scope: ResourceScope | undefined,
  cleanup: ((memory: Made) => void) | undefined,
): Made {
  const size = checkSize(byteSize, 'byteSize')
  if (cleanup !== undefined) {
    checkFunction(cleanup, 'cleanup')
    if (scope === undefined) throw wrongType('scope', 'the scope that runs the cleanup', scope)
  }
  const { block, base, byteSize: oldSize, flags } = segment
  const owner = scope === undefined ? undefined : checkScope(scope)
  block.gate.owner.checkAlive()
  checkUsable(block)
  const address = addressIn(block, base)!
  const isInside = base + size <= block.bytes.length
  if (!isInside && address === 0) {
    throw new ArgumentRangeError(`byteSize must be 0 for the null pointer, got ${size}`)
  }
  if (!isInside && address < NULL_PAGE) {
    throw new ArgumentRangeError(`the address must be that of memory, got ${hex(address)}, near the null pointer`, {
      hint: 'Check the pointer for null before you add an offset to it.',
    })
  }
  if (!isInside && isUserBlock(block)) {
    throw new ArgumentRangeError(
      `byteSize must be at most the ${block.bytes.length - base} bytes of the JavaScript buffer, got ${size}`,
    )
  }
  if (!isInside && block['slab'] !== undefined) {
    throw new ArgumentRangeError(
      `byteSize must be at most ${block.bytes.length - base}, because memory of other owners follows, got ${size}`,
      { hint: 'Allocate the memory with the size that you need.' },
    )
  }
  // The arena does not zero bytes after the segment's old end, so the chunk must never be lent again.
  if (size > oldSize) expose(block)
  const gate = owner === undefined ? block.gate : owner.gate
  const result = isInside
    ? newSegment(owner === undefined ? block : aliasOf(block, gate), base, size, flags)
    : newSegment(foreignBlock(gate, address, size), 0, size, flags)
  if (cleanup !== undefined) {
    owner?.addCloseAction(() => cleanup(newSegment(foreignBlock(globalScope.gate, address, size), 0, size, flags)))
  }
  return result
}

/** The same memory with another lifetime. Both blocks are exposed, because neither knows the raw views of the other. */
function aliasOf(block: Block, gate: Gate): Block {
  if (isPointer(block)) return pointerBlock(gate, addressIn(block, 0)!)
  expose(block)
  const alias = new Block(gate, block.view, block.bytes, block.address)
  alias.exposed = true
  return alias
}

/** A block over native memory. Its view is detached when its scope closes. */
function foreignBlock(gate: Gate, address: number | bigint, byteSize: number): Block {
  if (byteSize === 0) return pointerBlock(gate, address)
  if (typeof address === 'bigint' || address + byteSize > ADDRESS_SPACE_END) {
    throw new ArgumentRangeError(`the memory must end below 2^48, got ${byteSize} bytes at ${hex(address)}`)
  }
  const { view, bytes } = chunkIn(bufferOver(address, byteSize), 0, byteSize, address)
  const block = new Block(gate, view, bytes, address)
  const { owner } = gate
  if (owner instanceof ManagedScope) owner.own(block, 0)
  if (owner instanceof ImplicitScope) owner.own(block)
  return block
}

import { ArgumentError, ArgumentRangeError, Segment } from '@tenon/core'
import {
  addressOf,
  Block,
  bufferOver,
  checkAlignment,
  checkSize,
  describe,
  DEVICE_MEMORY,
  expose,
  type Gate,
  gateOfBuffer,
  hex,
} from '@tenon/core/internal'
import { type AnyScope, checkScope } from '../scope/check-scope.ts'
import { chunkIn } from '../scope/chunk.ts'
import { globalScope, ImplicitScope } from '../scope/gc-scopes.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { MemorySegment } from './memory-segment.ts'

/** The block of each buffer of a user: two segments over the same buffer have the same scope. */
const userBlocks = new WeakMap<ArrayBufferLike, Block>()

/** The block of each buffer that is the memory of a lifetime, which a raw view showed: it ends with the lifetime. */
const lentBlocks = new WeakMap<ArrayBufferLike, Block>()

/** Whether it is memory of a user's buffer. */
export function isUserBlock(block: Block): boolean {
  return block.exposed && userBlocks.get(block.view.buffer)?.bytes === block.bytes
}

/** Zeroed memory of its own in a scope. */
export function allocateNative(byteSize: number, byteAlignment: number, scope: AnyScope | undefined): MemorySegment {
  const size = checkSize(byteSize, 'byteSize')
  const alignment = checkAlignment(byteAlignment)
  const owner = scope === undefined ? new ImplicitScope() : checkScope(scope)
  return new MemorySegment(owner.newBlock(size, alignment), 0, size, 0)
}

/** A segment over memory of a user's buffer or view, which stays JavaScript's; or of a raw view, which ends with its scope. */
export function ofBuffer(source: ArrayBufferLike | ArrayBufferView): MemorySegment {
  const isView = ArrayBuffer.isView(source)
  // Reading `buffer` moves a small typed array out of the heap for good: its address is stable from now on.
  const buffer: unknown = isView ? source.buffer : source
  if (!(buffer instanceof ArrayBuffer) && !(buffer instanceof SharedArrayBuffer)) {
    throw new ArgumentError(
      `source must be an ArrayBuffer, a SharedArrayBuffer or a view of one, got ${describe(source)}`,
    )
  }
  if (buffer instanceof ArrayBuffer && buffer.detached) {
    throw new ArgumentError('source must be attached, its buffer is detached', {
      hint: 'it was transferred: use the new owner.',
    })
  }
  if (buffer instanceof ArrayBuffer ? buffer.resizable : buffer.growable) {
    throw new ArgumentError('source must have a fixed size, its buffer is resizable', {
      hint: 'copy it: memory under a segment must not move or shrink.',
    })
  }
  const gate = gateOfBuffer(buffer)
  const blocks = gate === undefined ? userBlocks : lentBlocks
  let block = blocks.get(buffer)
  if (block === undefined) {
    const { view, bytes, address } = chunkIn(
      buffer,
      0,
      buffer.byteLength,
      buffer.byteLength === 0 ? 0 : addressOf(buffer),
    )
    block = new Block(gate ?? new ImplicitScope().gate, view, bytes, address)
    // The user has it in hand: it may be detached behind our back.
    block.exposed = true
    blocks.set(buffer, block)
  }
  return isView
    ? new MemorySegment(block, source.byteOffset, source.byteLength, 0)
    : new MemorySegment(block, 0, buffer.byteLength, 0)
}

/** What addresses without memory have for it. */
const nothing = chunkIn(new ArrayBuffer(0), 0, 0, 0)

/** Above it no address of user space is. */
const ADDRESS_LIMIT = 2 ** 53

/** No process has memory behind it. The driver would abort the process for some larger sizes. */
const ADDRESS_SPACE_END = 2 ** 48

/** Checks an address that came from outside. */
export function checkAddress(address: unknown, name = 'address'): number {
  if (typeof address !== 'bigint' && typeof address !== 'number') {
    throw new ArgumentError(`${name} must be a bigint or a number, got ${describe(address)}`)
  }
  const number = Number(address)
  if (!Number.isInteger(number) || number < 0 || number >= ADDRESS_LIMIT) {
    throw new ArgumentRangeError(`${name} must be a whole number from 0 to 2^53 - 1, got ${describe(address)}`)
  }
  return number
}

/** An address as a segment without memory: it can be passed on, and given a size with reinterpret(). */
export function ofAddress(address: number | bigint): MemorySegment {
  const block = new Block(globalScope.gate, nothing.view, nothing.bytes, checkAddress(address))
  return new MemorySegment(block, 0, 0, 0)
}

/** Gives a segment of another allocator typed access. */
export function ofSegment(segment: Segment): MemorySegment {
  if (!(segment instanceof Segment)) throw new ArgumentError(`segment must be a Segment, got ${describe(segment)}`)
  if ((segment.flags & DEVICE_MEMORY) !== 0) {
    throw new ArgumentError("memory of a device can't be read or written from the Host", {
      hint: 'copy it to memory of a scope first.',
    })
  }
  return new MemorySegment(segment.block, segment.base, segment.byteSize, segment.flags)
}

/** The same address with another size, and with `scope` also another lifetime. */
export function reinterpret(
  segment: MemorySegment,
  byteSize: number,
  scope: AnyScope | undefined,
  cleanup: ((segment: MemorySegment) => void) | undefined,
): MemorySegment {
  const size = checkSize(byteSize, 'byteSize')
  if (cleanup !== undefined && typeof cleanup !== 'function') {
    throw new ArgumentError(`cleanup must be a function, got ${describe(cleanup)}`)
  }
  if (cleanup !== undefined && scope === undefined) {
    throw new ArgumentError('cleanup needs a scope to run at the end of, got none')
  }
  const owner = scope === undefined ? undefined : checkScope(scope)
  const { block, base, flags } = segment
  block.gate.owner.checkAlive()
  const address = block.address + base
  const isInside = base + size <= block.bytes.length
  if (!isInside && address === 0) throw new ArgumentRangeError(`the null pointer has no ${size} bytes`)
  if (!isInside && isUserBlock(block)) {
    throw new ArgumentRangeError(
      `a segment over a buffer of JavaScript can't grow beyond its ${block.bytes.length} bytes`,
    )
  }
  // What it writes behind its old end nobody zeroes: such a chunk is never lent again.
  if (size > segment.byteSize) expose(block)
  const gate = owner === undefined ? block.gate : owner.gate
  const result = isInside
    ? new MemorySegment(owner === undefined ? block : aliasOf(block, gate), base, size, flags)
    : new MemorySegment(foreignBlock(gate, address, size), 0, size, flags)
  if (owner !== undefined && cleanup !== undefined) {
    owner.addCloseAction(() =>
      cleanup(new MemorySegment(foreignBlock(globalScope.gate, address, size), 0, size, flags)),
    )
  }
  return result
}

/** The same memory with another lifetime. It is exposed in both: neither sees the raw views of the other. */
function aliasOf(block: Block, gate: Gate): Block {
  const alias = new Block(gate, block.view, block.bytes, block.address)
  expose(block)
  alias.exposed = true
  return alias
}

/** A block over memory that is not ours: one view of it, detached when its scope closes. */
function foreignBlock(gate: Gate, address: number, byteSize: number): Block {
  if (byteSize === 0) return new Block(gate, nothing.view, nothing.bytes, address)
  if (address + byteSize > ADDRESS_SPACE_END) {
    throw new ArgumentRangeError(`the memory must end below 2^48, got ${byteSize} bytes at ${hex(address)}`)
  }
  const { view, bytes } = chunkIn(bufferOver(address, byteSize), 0, byteSize, address)
  const block = new Block(gate, view, bytes, address)
  const { owner } = gate
  if (owner instanceof ManagedScope) owner.own(block, 0)
  if (owner instanceof ImplicitScope) owner.own(block)
  return block
}

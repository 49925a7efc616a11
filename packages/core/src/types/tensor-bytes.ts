import { ReadOnlyError } from '../errors/kinds.ts'
import { checkUsable, type Block } from '../memory/block.ts'
import { READ_ONLY } from '../memory/segment.ts'
import { copyElements, type StridedBytes } from './copy-elements.ts'
import { dtypeInfo } from './dtype.ts'
import { elementCodec } from './element.ts'
import { stepsOf, writeElements } from './tensor-elements.ts'
import { flatten, pathOf, unravel } from './tensor-literals.ts'
import { rowMajorStrides, rowMajorType, type TensorType } from './tensor-type.ts'

/** The memory of a tensor, which may be read and written now. */
export interface Memory {
  readonly type: TensorType
  readonly block: Block
  /** The position of the first element in the block, in bytes. */
  readonly base: number
}

/** Copies all elements to memory of the same shape, in its own layout. The memories must not overlap. */
export function copyBytes(from: Memory, to: Memory): void {
  if (from.type.strides === undefined && to.type.strides === undefined) to.block.bytes.set(bytesOf(from), to.base)
  else copyElements(stridedBytes(from), stridedBytes(to), elementCodec(to.type.dtype).byteSize, to.type.shape)
}

/** The bytes of values in row-major order. @throws {ArgumentError | ArgumentRangeError} if they do not fit the type. */
export function encode(layout: TensorType, values: unknown): Uint8Array {
  const type = rowMajorType(layout)
  const { elements } = flatten(values, dtypeInfo(type.dtype).kind === 'complex', type.shape)
  const bytes = new Uint8Array(type.byteSize)
  writeElements(type, new DataView(bytes.buffer), 0, elements, (i) => pathOf(unravel(i, type.shape)))
  return bytes
}

/** @throws {ReadOnlyError | ScopeClosedError} if elements of a tensor cannot be written. */
export function checkWritable({ flags, block }: { readonly flags: number; readonly block: Block }): void {
  if ((flags & READ_ONLY) !== 0) throw new ReadOnlyError('a tensor must be writable to be set, got read-only memory')
  checkUsable(block)
}

/** Overwrites all elements with those in `bytes`, which are row-major, and can be in the same memory. */
export function writeBytes(memory: Memory, bytes: Uint8Array): void {
  const { type, block, base } = memory
  const { shape, strides, dtype } = type
  if (strides !== undefined) {
    const from = { bytes: bytes.slice(), strides: rowMajorStrides(shape) }
    copyElements(from, stridedBytes(memory), elementCodec(dtype).byteSize, shape)
    return
  }
  const end = base + type.byteSize - 1
  const before = block.bytes[end]!
  block.bytes.set(bytes, base)
  // The last byte of a packed view can have elements behind the view.
  const used = type.packing === 'packed' ? (type.elementCount * dtypeInfo(dtype).bits) % 8 : 0
  if (used === 0) return
  const mask = (1 << used) - 1
  block.bytes[end] = (block.bytes[end]! & mask) | (before & ~mask)
}

/** A tensor with its elements as values. */
interface Listed {
  readonly type: TensorType
  toArray(): readonly unknown[]
}

/** Whether two tensors have the same types, shapes and elements. @param bytes returns the elements of one in row-major order. */
export function areEqual<T extends Listed>(a: T, b: T, bytes: (x: T) => Uint8Array): boolean {
  const { dtype, shape } = a.type
  if (dtype !== b.type.dtype || shape.length !== b.type.shape.length) return false
  if (!shape.every((size, axis) => size === b.type.shape[axis])) return false
  if (dtypeInfo(dtype).bits >= 8) return Buffer.compare(bytes(a), bytes(b)) === 0
  // The other bits of their bytes are not part of narrow elements.
  const theirs = b.toArray()
  return a.toArray().every((element, i) => Object.is(element, theirs[i]))
}

/** A tensor with its address. */
interface Placed {
  readonly type: TensorType
  readonly address: number
}

/** Returns the number of bytes that two tensors have in common. */
export function sharedBytes(a: Placed, b: Placed): number {
  const start = Math.max(a.address, b.address)
  const end = Math.min(a.address + a.type.byteSize, b.address + b.type.byteSize)
  return Math.max(end - start, 0)
}

export function bytesOf({ block, base, type }: Memory): Uint8Array {
  return block.bytes.subarray(base, base + type.byteSize)
}

const stridedBytes = (memory: Memory): StridedBytes => ({ bytes: bytesOf(memory), strides: stepsOf(memory.type) })

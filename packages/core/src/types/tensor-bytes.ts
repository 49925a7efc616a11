import type { Block } from '../memory/block.ts'
import { copyElements, type StridedBytes } from './copy-elements.ts'
import { dtypeInfo } from './dtype.ts'
import { elementCodec } from './element.ts'
import { stepsOf, writeElements } from './tensor-elements.ts'
import { flatten, pathOf, unravel } from './tensor-literals.ts'
import { rowMajorStrides, rowMajorType, type TensorType } from './tensor-type.ts'

/** The memory of a tensor, which may be read and written now. */
interface Memory {
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

export function bytesOf({ block, base, type }: Memory): Uint8Array {
  return block.bytes.subarray(base, base + type.byteSize)
}

const stridedBytes = (memory: Memory): StridedBytes => ({ bytes: bytesOf(memory), strides: stepsOf(memory.type) })

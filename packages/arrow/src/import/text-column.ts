import { copiedBuffer, stringsOfArrow, type ArrowStrings, type StringArgument } from '@tenon/core/internal'
import { malformed } from '../errors/arrow-error.ts'
import type { ImportedMemory } from './import-owner.ts'
import { canBeMemory, readInt32, readWords } from './native-words.ts'
import type { Node } from './read-array.ts'

/** The bitmap of a node, in bytes that contain all of its bits. Undefined without nulls. */
export function bitmapOf(node: Node, memory: ImportedMemory): Uint8Array | undefined {
  const { buffers, offset, length } = node
  const address = buffers[0] ?? 0
  return address === 0 || length === 0 ? undefined : memory.bytes(address, Math.ceil((offset + length) / 8))
}

/** The offsets of a node, of which it has one more than elements. They are copied if they are not aligned. */
export function offsetsOf(node: Node, memory: ImportedMemory, width: 4 | 8): Int32Array | BigInt64Array {
  const { buffers, offset, length } = node
  const Offsets = width === 4 ? Int32Array : BigInt64Array
  // A producer may leave the buffer of an empty array out.
  if (buffers[1] === 0) return new Offsets(1)
  const address = buffers[1]! + offset * width
  const byteSize = (length + 1) * width
  if (address % width !== 0) return new Offsets(copiedBuffer(address, byteSize))
  const bytes = memory.bytes(address, byteSize)
  return new Offsets(bytes.buffer, bytes.byteOffset, length + 1)
}

/** The tensor of a column of strings or bytes. @throws {ArrowError | MalformedTensorError} if its offsets or sizes are not valid */
export function stringsOf(node: Node, memory: ImportedMemory, isCopied: boolean): StringArgument {
  const { length, offset } = node
  const { layout } = node.field
  const strings = layout.kind === 'views' ? viewsOf(node, memory) : textOf(node, memory, layout as { width: 4 | 8 })
  return stringsOfArrow(strings, { length, validity: bitmapOf(node, memory), validityOffset: offset, isCopied })
}

function textOf(node: Node, memory: ImportedMemory, { width }: { readonly width: 4 | 8 }): ArrowStrings {
  const { buffers, path, offset, length } = node
  const offsets = offsetsOf(node, memory, width)
  // The interface does not state the size of the bytes: it is the last offset.
  const last = buffers[1] === 0 ? 0 : lastOffset(buffers[1]! + (offset + length) * width, width)
  if (last < 0 || (last > 0 && !canBeMemory(buffers[2]!, last)))
    throw malformed(path, `must have ${last} bytes of strings, as its last offset says, got the address ${buffers[2]}`)
  return { offsets, data: memory.bytes(buffers[2]!, last) }
}

const lastOffset = (address: number, width: 4 | 8): number =>
  width === 4 ? readInt32(address) : readWords(address, 1)[0]!

function viewsOf(node: Node, memory: ImportedMemory): ArrowStrings {
  const { buffers, path, offset, length } = node
  const variadic = buffers.slice(2, -1)
  const sizes = variadic.length === 0 ? [] : readWords(buffers.at(-1)!, variadic.length)
  const wrong = sizes.findIndex((size, i) => size < 0 || (size > 0 && !canBeMemory(variadic[i]!, size)))
  if (wrong !== -1) throw malformed(path, `must have ${sizes[wrong]} bytes in its buffer ${wrong}, as it says`)
  return {
    views: length === 0 ? new Uint8Array(0) : memory.bytes(buffers[1]! + offset * 16, length * 16),
    buffers: variadic.map((address, i) => memory.bytes(address, sizes[i]!)),
  }
}

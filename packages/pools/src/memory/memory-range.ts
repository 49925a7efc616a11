import { bufferOver, coreLibrary, type Gate, type PartSource, type SharedChunk } from '@tenon/core/internal'
import type { Chunk } from './chunk.ts'
import type { Span } from './free-list.ts'

/** Keeps what a buffer over native memory needs alive as long as the buffer, also after it was transferred. */
const keptBy = new WeakMap<ArrayBuffer, object>()

/** Buffers of koffi keep nothing alive, so what they need lives until their memory is closed. */
const keptByMemory = new WeakMap<Gate, object[]>()

/** Makes a buffer over memory that keeps `kept` alive. The gate is that of the memory. */
export function keepingBuffer(address: number, byteSize: number, kept: object, gate: Gate): ArrayBuffer {
  if (coreLibrary().driver.kind === 'koffi') {
    const all = keptByMemory.get(gate) ?? []
    all.push(kept)
    keptByMemory.set(gate, all)
  }
  const token = new ArrayBuffer(0)
  keptBy.set(token, kept)
  return bufferOver(address, byteSize, token)
}

/** Taken memory in a chunk, and the source of the segment over it. It keeps the memory open to the garbage collector. */
export class MemoryRange implements PartSource {
  readonly chunk: Chunk
  /** From the start of the chunk, in bytes. */
  readonly offset: number
  /** The size in bytes that was asked for. */
  readonly byteSize: number
  readonly span: Span<Chunk>
  readonly gate: Gate
  readonly address: number
  readonly start: number
  readonly shared: SharedChunk

  constructor(gate: Gate, span: Span<Chunk>, offset: number, byteSize: number) {
    this.gate = gate
    this.chunk = span.owner
    this.offset = offset
    this.byteSize = byteSize
    this.span = span
    this.address = this.chunk.address + offset
    this.start = offset
    this.shared = this.chunk
  }

  get buffer(): ArrayBufferLike {
    return this.chunk.buffer
  }

  /** Copies bytes to the start of the range. @throws {RangeError} if there are more than the rest of the chunk has. */
  copyIn(bytes: Uint8Array): void {
    this.chunk.bytes.set(bytes, this.offset)
  }

  /** A buffer that keeps the range alive, and is detached when the memory is closed. */
  bufferOf(byteOffset: number, byteSize: number): ArrayBuffer {
    const buffer = keepingBuffer(this.address + byteOffset, byteSize, this, this.gate)
    this.span.views ??= []
    this.span.views.push(new WeakRef(buffer))
    return buffer
  }
}

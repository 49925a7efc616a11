import { bufferOver, hasNativeBuffers } from '../native/call/buffer-over.ts'
import { coreFunctions } from '../native/core-library.ts'
import { addressOf, keepAlive } from '../native/native-memory.ts'
import { detachBuffer, isDetached } from './array-buffer.ts'

/** A buffer with memory that native code lends to JavaScript for a while. */
export interface LentBuffer {
  readonly buffer: ArrayBuffer
  /** The address of the first byte of the buffer. */
  readonly address: number
  /** Detaches the buffer, which invalidates every raw view of the memory. Called before native code uses the memory again. */
  readonly end: () => void
}

/** Returns a copy of native memory. */
export function copiedBuffer(address: number, byteSize: number): ArrayBuffer {
  const copy = new Uint8Array(byteSize)
  if (byteSize > 0) coreFunctions().tn_memory_copy(addressOf(copy), address, byteSize)
  keepAlive(copy)
  return copy.buffer
}

/**
 * Returns a buffer with memory that native code lends. Where buffers over native memory are not allowed, it has a copy, which is written
 * back at the end unless it is read-only.
 */
export function lentBuffer(address: number, byteSize: number, isReadOnly: boolean): LentBuffer {
  const hasMemory = hasNativeBuffers()
  const buffer = hasMemory ? bufferOver(address, byteSize) : copiedBuffer(address, byteSize)
  const isWrittenBack = !hasMemory && !isReadOnly
  const end = (): void => {
    // The program may have transferred the buffer.
    if (isWrittenBack && !isDetached(buffer)) {
      const copy = new Uint8Array(buffer)
      coreFunctions().tn_memory_copy(address, addressOf(copy), copy.length)
      keepAlive(copy)
    }
    detachBuffer(buffer)
  }
  return { buffer, address: hasMemory ? address : addressOf(buffer), end }
}

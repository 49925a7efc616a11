import type { ByteSource } from '../src/byte-source.ts'

/** Bytes in memory as a source. */
export function memorySource(bytes: Uint8Array): ByteSource {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { byteSize: buffer.length, read: (offset, byteSize) => buffer.subarray(offset, offset + byteSize) }
}

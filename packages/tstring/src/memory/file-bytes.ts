import { readSync, writeSync } from 'node:fs'
import { newArrayBuffer } from '@tenon/core/internal'

/** The most bytes that one call reads or writes. Node.js refuses 2 GiB. */
const AT_ONCE = 2 ** 30

/** Reads at most `byteSize` bytes; fewer if the file is cut meanwhile. */
export function readBytes(descriptor: number, byteSize: number, atOnce: number = AT_ONCE): Uint8Array {
  const bytes = Buffer.from(newArrayBuffer(byteSize, 1), 0, byteSize)
  let at = 0
  while (at < byteSize) {
    const count = readSync(descriptor, bytes, at, Math.min(byteSize - at, atOnce), null)
    if (count === 0) break
    at += count
  }
  return bytes.subarray(0, at)
}

export function writeBytes(descriptor: number, bytes: Uint8Array, atOnce: number = AT_ONCE): void {
  for (let at = 0; at < bytes.length;) {
    at += writeSync(descriptor, bytes, at, Math.min(bytes.length - at, atOnce))
  }
}

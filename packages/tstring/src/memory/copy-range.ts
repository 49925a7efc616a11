/** Copies bytes between blocks. In some versions of Node.js, `Buffer#copy` reads other bytes from 2^32 on. */
export function copyRange(source: Uint8Array, at: number, size: number, target: Uint8Array, to: number): void {
  target.set(source.subarray(at, at + size), to)
}

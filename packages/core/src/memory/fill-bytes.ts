// The method of the engine: that of Buffer takes offsets from 2^32 on modulo 2^32 in Deno.
const { fill } = Uint8Array.prototype

/** Fills the bytes from `start` to `end` with a value. */
export function fillBytes(bytes: Uint8Array, value: number, start: number, end: number): void {
  fill.call(bytes, value, start, end)
}

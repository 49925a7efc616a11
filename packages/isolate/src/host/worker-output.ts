import { LAYOUTS } from '@tenon/core/internal'
import type { CommandMemory } from './command-memory.ts'

const { offsets: OUTPUT, size: SIZE } = LAYOUTS.tn_host_output_t
/** The size of the ring of records in bytes. */
const RING = SIZE - OUTPUT.bytes
/** Each record begins with the stream and the length. */
const RECORD = 8
const TWO_32 = 2 ** 32
/** The most bytes that are read from the pipes of a worker that has ended. */
const MOST_REST = 65536

/** Returns the text that a worker wrote to stdout and stderr since `mark`, which was its output total then. */
export function outputSince(memory: CommandMemory, mark: number): string {
  const bytes = memory.copyOutput()
  const view = new DataView(bytes.buffer)
  const total = view.getUint32(OUTPUT.total, true)
  const written = (total - mark + TWO_32) % TWO_32
  if (written === 0) return ''
  const end = Number(view.getBigUint64(OUTPUT.total, true) % BigInt(RING))
  const parts: Uint8Array[] = []
  if (written < RING && written <= end) {
    takeRecords(view, end - written, end, parts)
  } else {
    // The ring began anew. If it has overwritten the place of the mark, the oldest record that is left is looked for.
    const start = written <= RING ? RING - (written - end) : alignUp(end)
    takeRecords(view, oldestRecord(view, start), RING, parts)
    takeRecords(view, 0, end, parts)
  }
  return textOf(parts)
}

const alignUp = (offset: number): number => (offset + 7) & ~7

/** Adds the contents of the records from `start` to `end`. What is no record ends the list. */
function takeRecords(view: DataView, start: number, end: number, parts: Uint8Array[]): void {
  for (let at = start; at + RECORD <= end;) {
    const [stream, length] = [view.getUint32(OUTPUT.bytes + at, true), view.getUint32(OUTPUT.bytes + at + 4, true)]
    if (stream > 2 || length > end - at - RECORD) return
    if (stream !== 0) parts.push(new Uint8Array(view.buffer, OUTPUT.bytes + at + RECORD, length))
    at += RECORD + alignUp(length)
  }
}

/** The first place from `start` from which records reach exactly to the end of the ring. */
function oldestRecord(view: DataView, start: number): number {
  for (let first = start; first + RECORD <= RING; first += 8) {
    let at = first
    while (at + RECORD <= RING) {
      const [stream, length] = [view.getUint32(OUTPUT.bytes + at, true), view.getUint32(OUTPUT.bytes + at + 4, true)]
      if (stream > 2 || length > RING - at - RECORD) break
      at += RECORD + alignUp(length)
    }
    if (at >= RING) return first
  }
  return RING
}

function textOf(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString('utf8')
}

/** Reads what is left in the pipes of a worker that has ended. The descriptors do not block; -1 for output that is not captured. */
export function restOfOutput(descriptors: readonly number[]): string {
  const { readSync } = process.getBuiltinModule('node:fs')
  const parts: Uint8Array[] = []
  for (const descriptor of descriptors) {
    if (descriptor < 0) continue
    const part = Buffer.alloc(MOST_REST)
    try {
      parts.push(part.subarray(0, readSync(descriptor, part)))
    } catch {
      // Nothing is left, but another process holds the writing end.
    }
  }
  return textOf(parts)
}

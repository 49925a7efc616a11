import { GuardError } from '@tenon/core'
import { addGuard, newGuardedMemory, type Damage } from '@tenon/core/internal'
import { type Chunk, chunkIn, newChunk, newSharedChunk, type Upkeep } from '../scope/chunk.ts'

const PATTERN = 0xa7

/** The number of bytes that are checked on both sides of shared memory. */
const MARGIN = 128

/**
 * Allocates zeroed memory that ends as close to a protected page as its alignment allows, or without mappings unguarded memory. A
 * crash report has `name`.
 */
export function newGuardedChunk(byteSize: number, byteAlignment: number, name: string): Chunk & Upkeep {
  const memory = newGuardedMemory(byteSize, byteAlignment, name, false)
  if (memory === undefined) return newChunk(byteSize, byteAlignment)
  const { buffer, address, guard, free } = memory
  const check = (): void => refuse(guard.find(), byteSize, name)
  return { ...chunkIn(buffer, 0, Math.max(byteSize, 1), address), check, free }
}

/** Shared memory cannot lie on protected pages. Calls detect writes next to it, and so does the close of its handle. */
export function newWatchedSharedChunk(byteSize: number, byteAlignment: number, name: string): Chunk & Upkeep {
  const chunk = newSharedChunk(byteSize, byteAlignment, MARGIN)
  const { buffer, byteOffset } = chunk.view
  const before = new Uint8Array(buffer, 0, byteOffset).fill(PATTERN)
  const behind = new Uint8Array(buffer, byteOffset + byteSize).fill(PATTERN)
  const find = (): Damage | undefined => {
    const [early, late] = [changed(before), changed(behind)]
    if (early.count + late.count === 0) return undefined
    return { before: early.count, distance: before.length - early.first, behind: late.count, gap: late.first }
  }
  addGuard(buffer, { address: chunk.address, byteSize, find })
  return { ...chunk, check: () => refuse(find(), byteSize, name) }
}

function refuse(damage: Damage | undefined, byteSize: number, name: string): void {
  if (damage === undefined) return
  const { before, behind } = damage
  throw new GuardError(
    `native code wrote outside a segment of ${byteSize} bytes of ${name}: ${before} bytes before it, ${behind} bytes after it`,
    { hint: 'Check the calls that this segment was passed to.', details: { before, after: behind } },
  )
}

/** Counts the bytes that are not the pattern, finds the first, and restores the pattern. */
function changed(bytes: Uint8Array): { count: number; first: number } {
  const first = bytes.findIndex((byte) => byte !== PATTERN)
  if (first === -1) return { count: 0, first: bytes.length }
  const count = bytes.reduce((sum, byte) => (byte === PATTERN ? sum : sum + 1), 0)
  bytes.fill(PATTERN)
  return { count, first }
}

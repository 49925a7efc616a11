import type { Hold } from '@tenon/core'
import type { Gated } from '@tenon/core/internal'

/** Holds all of them open, or none. @throws {ScopeClosedError} if one of them is being closed. */
export function holdAll(gated: readonly Gated[]): Hold[] {
  const holds: Hold[] = []
  try {
    for (const { gate } of gated) holds.push(gate.owner.acquire())
    return holds
  } catch (error) {
    for (const hold of holds) hold.release()
    throw error
  }
}

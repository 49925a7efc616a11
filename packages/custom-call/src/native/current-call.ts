import { coreFunctionAddress, door, takeThrown, WORDS, words } from '@tenon/core/internal'
import type { CallMemory } from './call-memory.ts'

/**
 * The functions of the core that run calls. They take no parameter, which would cost a sixth of a native call, but find the
 * address of the call in the frame. Each has its own place among the entries of the door.
 */
const ENTRIES = {
  typed: { place: 0, address: (): number => coreFunctionAddress('tn_xla_execute_current') },
  untyped: { place: 1, address: (): number => coreFunctionAddress('tn_xla_execute_untyped_current') },
  batch: { place: 2, address: (): number => coreFunctionAddress('tn_xla_execute_batch_current') },
} as const

/** Enters native code, which runs the call whose address is in the frame. */
export type Entry = () => void

const opened = new Map<keyof typeof ENTRIES, Entry>()

/** Returns the entry for a kind of calls. */
export function entryFor(kind: keyof typeof ENTRIES): Entry {
  let entry = opened.get(kind)
  if (entry === undefined) {
    const { place, address } = ENTRIES[kind]
    entry = door().entry(place, address())
    opened.set(kind, entry)
  }
  return entry
}

const CALL = WORDS.general
const STATUS = WORDS.errno
const STATE = WORDS.state

/** Runs a call on this thread and returns its status. @throws what an upcall stub has thrown meanwhile */
export function runCall(enter: Entry, { lo, hi }: CallMemory): number {
  // Every call overwrites the frame, so nothing may run between these stores and the loads.
  words[CALL] = lo
  words[CALL + 1] = hi
  enter()
  const status = words[STATUS]!
  if (words[STATE] !== 0) throw takeThrown()
  return status
}

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

/** Constants of a function are part of compiled code. The bundler turns those of a module into variables. */
function makeRunCall(): (enter: Entry, memory: CallMemory) => number {
  const frame = words
  const [call, statusWord, state] = [WORDS.general, WORDS.errno, WORDS.state]
  return (enter, { lo, hi }) => {
    // Every call overwrites the frame, so nothing may run between these stores and the loads.
    frame[call] = lo
    frame[call + 1] = hi
    enter()
    const status = frame[statusWord]!
    if (frame[state] !== 0) throw takeThrown()
    return status
  }
}

/** Runs a call on this thread and returns its status. @throws what an upcall stub has thrown meanwhile */
export const runCall: (enter: Entry, memory: CallMemory) => number = makeRunCall()

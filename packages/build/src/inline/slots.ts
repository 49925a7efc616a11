import { availableParallelism } from 'node:os'

/** How many compilers of this thread run at once. Each may need hundreds of megabytes. */
const limit = availableParallelism()

let taken = 0

/** The compilations that wait, in order. */
const waiting = new Set<() => void>()

/**
 * Waits until fewer compilers than processors run. The caller gives the slot back with {@link giveSlot}.
 *
 * @returns whether there is a slot. False if the signal was aborted first.
 */
export function takeSlot(signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false)
  if (taken < limit) {
    taken += 1
    return Promise.resolve(true)
  }
  return new Promise((resolve) => {
    const start = (): void => {
      signal?.removeEventListener('abort', giveUp)
      resolve(true)
    }
    const giveUp = (): void => {
      waiting.delete(start)
      resolve(false)
    }
    waiting.add(start)
    signal?.addEventListener('abort', giveUp, { once: true })
  })
}

/** Gives a slot to the compilation that has waited longest. */
export function giveSlot(): void {
  const [next] = waiting
  if (next === undefined) {
    taken -= 1
    return
  }
  waiting.delete(next)
  next()
}

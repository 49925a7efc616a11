import { ScopeHeldError } from '@tenon/core'
import { setTimeout } from 'node:timers/promises'

/** The longest sleep between two looks, in milliseconds. */
const LONGEST_SLEEP = 100

/** Closes memory as soon as no call holds it. A run that was left alone at its deadline may hold it until its worker has ended. */
export async function closeWhenFree(memory: { close(): void }): Promise<void> {
  for (let sleep = 1; ; sleep = Math.min(2 * sleep, LONGEST_SLEEP)) {
    try {
      memory.close()
      return
    } catch (error) {
      if (!(error instanceof ScopeHeldError)) throw error
    }
    await setTimeout(sleep)
  }
}

import { ScopeClosedError, ScopeHeldError, type NativeAllocator } from '@tenon/core'
import { setTimeout } from 'node:timers/promises'
import { NativeScope } from 'tenon/scope'

/** Shared memory with an end, in which the tensors of one request lie. */
export interface RequestMemory extends NativeAllocator {
  close(): void
}

/** Memory of this process for one request, which is given back with its answer. The garbage collector would let it grow. */
export const SCOPES = { arena: (): RequestMemory => NativeScope.ofConfined() }

/** The longest sleep between two looks, in milliseconds. */
const LONGEST_SLEEP = 100

/**
 * Closes memory as soon as no call holds it. A run that was left alone at its deadline may hold it until its worker has ended.
 *
 * @returns undefined if it was closed at once.
 */
export function closeWhenFree(memory: { close(): void }): Promise<void> | undefined {
  return isClosedNow(memory) ? undefined : closeLater(memory)
}

async function closeLater(memory: { close(): void }): Promise<void> {
  for (let sleep = 1; ; sleep = Math.min(2 * sleep, LONGEST_SLEEP)) {
    await setTimeout(sleep)
    if (isClosedNow(memory)) return
  }
}

function isClosedNow(memory: { close(): void }): boolean {
  try {
    memory.close()
    return true
  } catch (error) {
    if (error instanceof ScopeHeldError) return false
    // A function can close the lifetime of its inputs, which is the error of its own request.
    if (error instanceof ScopeClosedError) return true
    throw error
  }
}

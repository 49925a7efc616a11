import { readdirSync } from 'node:fs'
import { expect } from 'vitest'
import { PoolsError, poolUsage } from '../src/index.ts'

/** What something threw. */
async function thrownBy(run: () => unknown): Promise<PoolsError> {
  try {
    await run()
  } catch (error) {
    expect(error).toBeInstanceOf(PoolsError)
    return error as PoolsError
  }
  throw new Error('it did not throw')
}

/** Expects a failure with a status and, if given, a rule. */
export async function expectFailure(run: () => unknown, status: string, rule?: string): Promise<PoolsError> {
  const error = await thrownBy(run)
  expect({ status: error.status, rule: rule === undefined ? undefined : error.rule }).toEqual({ status, rule })
  return error
}

/** What this process holds: descriptors, mappings and their bytes. */
function holdings(): { descriptors: number; mappings: number; mappedBytes: number } {
  // The directory that is read has a descriptor too: it is the same each time.
  return { descriptors: readdirSync('/proc/self/fd').length, ...poolUsage() }
}

/** Waits until a condition holds. */
async function until(condition: () => boolean, what: string | (() => string)): Promise<void> {
  const end = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > end)
      throw new Error(`it did not come about in time: ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** What this process holds when nothing is being given back any more, as text. A driver gives back a moment later. */
async function steadyHoldings(): Promise<string> {
  for (let before = JSON.stringify(holdings()); ;) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const now = JSON.stringify(holdings())
    if (now === before) return now
    before = now
  }
}

/** Runs something and expects that everything it held is given back, at the latest a moment later. */
export async function expectNoLeaks(run: () => unknown): Promise<void> {
  const text = await steadyHoldings()
  await run()
  await until(
    () => JSON.stringify(holdings()) === text,
    `it holds what it held before, ${text}; at first ${JSON.stringify(holdings())}`,
  )
}

/** The floats in bytes. */
export const floats = (bytes: Uint8Array): number[] => [...new Float32Array(bytes.slice().buffer)]

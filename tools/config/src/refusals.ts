import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'

/** The names of functions that return a status and acquire a resource: memory, a mapping, a descriptor, a connection, a process, a stub. */
const acquires =
  /^tn_.*_(?:open|create|allocate|duplicate|pair|listen|connect|accept|start|send|seal|reserve|protect|add)(?:_|$)/

/**
 * Refuses each call of a native function that acquires a resource, one in each run of a scenario, and expects that the run leaves nothing
 * behind: the counters come to what they were within ten seconds, and what is thrown is an Error. A refused call is
 * not made and returns `status`. A scenario must release everything, also if it throws.
 *
 * @param functions those of a native library, whose members are replaced during a run
 * @param counters what this process holds
 * @returns the names of the refused functions, in the order of their calls
 *
 * @example
 *   const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS.OUT_OF_MEMORY.value, run, counters)
 *   expect(refused).toContain('tn_mapping_open')
 */
export async function expectRefusalsLeaveNothing(
  functions: object,
  status: number,
  scenario: () => unknown,
  counters: () => object,
): Promise<string[]> {
  // The first run makes what a process makes once.
  await scenario()
  const calls: string[] = []
  await replaced(functions, (name) => void calls.push(name), scenario)
  const before = await steady(counters)
  for (const [i, name] of calls.entries()) {
    let count = 0
    const refuse = (): number | undefined => (count++ === i ? status : undefined)
    const error: unknown = await replaced(functions, refuse, scenario).catch((thrown: unknown) => thrown)
    const call = `call ${i}, ${name}`
    if (error !== undefined) expect(error, call).toBeInstanceOf(Error)
    expect(await steady(counters, before), call).toEqual(before)
  }
  return calls
}

/** Runs a scenario, and asks before each call whether it is refused with a status. */
async function replaced(
  functions: object,
  ask: (name: string) => number | undefined,
  scenario: () => unknown,
): Promise<undefined> {
  const members = functions as Record<string, (...values: unknown[]) => unknown>
  const originals = Object.entries(members).filter(([name]) => acquires.test(name))
  for (const [name, original] of originals) members[name] = (...values) => ask(name) ?? original(...values)
  try {
    await scenario()
    return undefined
  } finally {
    Object.assign(members, Object.fromEntries(originals))
  }
}

/** The counters, once they are as expected or, without an expectation, the same twice in a row. */
async function steady(counters: () => object, expected?: object): Promise<object> {
  let last = counters()
  for (const end = performance.now() + 10_000; performance.now() < end;) {
    if (expected !== undefined && JSON.stringify(last) === JSON.stringify(expected)) return last
    await sleep(expected === undefined ? 50 : 5)
    const now = counters()
    if (expected === undefined && JSON.stringify(now) === JSON.stringify(last)) return now
    last = now
  }
  return last
}

import { door } from './door.ts'
import { WORDS } from './frame-layout.ts'
import { words } from './frame.ts'
import { setAddress, takeThrown } from './functions.ts'

/**
 * Calls a function of the core's libraries that can run functions of TypeScript, which must not happen inside a call of koffi.
 *
 * @param values at most four integers or addresses.
 * @returns the `int32_t` that the function returns. @throws what a function of TypeScript has thrown
 */
export function enterFunction(address: number, ...values: readonly number[]): number {
  const { enter } = door()
  setAddress(WORDS.target, address)
  words[WORDS.flags] = 0
  words[WORDS.stackSize] = 0
  words[WORDS.extra] = 0
  words[WORDS.extra + 1] = 0
  for (let i = 0; i < values.length; i++) setAddress(WORDS.general + 2 * i, values[i]!)
  enter()
  if (words[WORDS.state] !== 0) throw takeThrown()
  return words[WORDS.generalResults]!
}

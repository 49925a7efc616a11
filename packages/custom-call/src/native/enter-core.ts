import { coreFunctionAddress, type CoreFunctions, functionAt, type PlainFunction } from '@tenon/core/internal'

const functions = new Map<keyof CoreFunctions, PlainFunction>()

/**
 * Calls a function of the core that runs code of a library. Such code may need the large stack of native code, and can call
 * functions of TypeScript.
 *
 * @param values integers or addresses, as many in each call of a function.
 * @returns the status. @throws what an upcall stub has thrown meanwhile
 */
export function enterCore(name: keyof CoreFunctions, ...values: readonly number[]): number {
  let call = functions.get(name)
  if (call === undefined) {
    const parameters = values.map(() => 'uint64' as const)
    functions.set(name, (call = functionAt(coreFunctionAddress(name), 'int32', parameters)))
  }
  return call(...values)
}

import { coreFunctionAddress, enterFunction, type CoreFunctions } from '@tenon/core/internal'

const addresses = new Map<keyof CoreFunctions, number>()

/**
 * Calls a function of the core that runs code of a library. Such code can call functions of TypeScript, which must not run
 * inside a call of koffi.
 *
 * @param values at most four integers or addresses.
 * @returns the status. @throws what an upcall stub has thrown meanwhile
 */
export function enterCore(name: keyof CoreFunctions, ...values: readonly number[]): number {
  let address = addresses.get(name)
  if (address === undefined) {
    address = coreFunctionAddress(name)
    addresses.set(name, address)
  }
  return enterFunction(address, ...values)
}

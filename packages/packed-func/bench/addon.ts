import { loadAddon } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { Module } from '@tenon/packed-func'
import { cellOf } from '@tenon/packed-func/internal'

/** The arguments of the addon's functions: text, numbers and objects of {@link addonObject}. */
type AddonValue = number | string | object

/** The hand-written addon of `tools/bench/csrc/packed_func_addon.c`. */
interface PackedFuncAddon {
  bind(functionCall: number, target: number): (...values: AddonValue[]) => number | undefined
  objectAt(address: number): object
  makeCallback(functionCreate: number, run: (x: number) => number): object
}

const addon = loadAddon<PackedFuncAddon>('packed_func_addon')
const kept: unknown[] = []

/** The address of a function of tvm-ffi, which the process has loaded. */
function addressOf(symbol: string): number {
  return Number(NativeLibrary.ofProcess().symbol(symbol))
}

/** A function of the example kernels, called by the addon. It must return the same values as the package. */
export function addonCall(name: string): (...values: AddonValue[]) => number | undefined {
  const fn = Module.open(kernelLibrary('packed')).get(name)
  kept.push(fn)
  return addon.bind(addressOf('TVMFFIFunctionCall'), cellOf(fn).handle)
}

/** An object of tvm-ffi as an argument of the addon's functions. */
export const addonObject = (address: number): object => addon.objectAt(address)

/** A packed function that calls a JavaScript one. */
export const addonCallback = (run: (x: number) => number): object =>
  addon.makeCallback(addressOf('TVMFFIFunctionCreate'), run)

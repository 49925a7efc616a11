import type { PackedFunc } from './packed-func.ts'
import { getGlobal } from './registry.ts'

const found = new Map<string, PackedFunc>()

/** A function of tvm-ffi itself, looked up once. @throws {PackedFuncError} of kind `ValueError` if the library lacks it. */
export function builtin(name: string): PackedFunc {
  let builtinFunction = found.get(name)
  if (builtinFunction === undefined) {
    builtinFunction = getGlobal(name)
    found.set(name, builtinFunction)
  }
  return builtinFunction
}

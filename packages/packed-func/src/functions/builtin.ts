import { globalFunction } from '../native/global-function.ts'
import { TypeIndex } from '../native/type-index.ts'
import { PackedFunc } from './packed-func.ts'

const found = new Map<string, PackedFunc>()

/** A function of tvm-ffi itself, looked up once. @throws {ValueError} if the library does not register it. */
export function builtin(name: string): PackedFunc {
  let builtinFunction = found.get(name)
  if (builtinFunction === undefined) {
    builtinFunction = new PackedFunc(TypeIndex.Function, globalFunction(name))
    found.set(name, builtinFunction)
  }
  return builtinFunction
}

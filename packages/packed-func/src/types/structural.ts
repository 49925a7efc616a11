import { UnsupportedError } from '@tenon/core'
import { tryGetGlobal } from '../functions/registry.ts'
import { host } from '../native/host.ts'
import type { Argument, Value } from '../values/argument.ts'

/**
 * Calls a function of the C++ runtime of tvm-ffi, which the library of this package does not have.
 *
 * @throws {UnsupportedError} if the library in use does not register it.
 */
function callExtra(name: string, ...values: Argument[]): Value {
  const found = tryGetGlobal(name)
  if (found === undefined) {
    throw new UnsupportedError(`the tvm-ffi library ${host().ffiPath} has no function ${name}`, {
      hint:
        'pip install apache-tvm-ffi, and set TENON_TVM_FFI_LIBRARY to the file that "tvm-ffi-config --libfiles" prints, ' +
        'before packed functions are first used.',
      details: { name, path: host().ffiPath },
    })
  }
  try {
    return found(...values)
  } finally {
    found.close()
  }
}

/**
 * Returns whether two values have the same structure, by the rules that the library of each type registers.
 *
 * @throws {UnsupportedError} if the tvm-ffi library in use does not have this function. That of this package does not: set
 * `TENON_TVM_FFI_LIBRARY` to that of the Python package apache-tvm-ffi.
 */
export function structuralEqual(a: Argument, b: Argument): boolean {
  return callExtra('ffi.StructuralEqual', a, b, false, false) as boolean
}

/** Returns a hash that is equal for values with the same structure. @throws {UnsupportedError} as {@link structuralEqual} */
export function structuralHash(value: Argument): number | bigint {
  return callExtra('ffi.StructuralHash', value, false, false) as number | bigint
}

/** Returns a copy of a value and of everything that it refers to. @throws {UnsupportedError} as {@link structuralEqual} */
export function deepCopy(value: Argument): Value {
  return callExtra('ffi.DeepCopy', value)
}

/**
 * Returns a value and everything that it refers to as JSON, for {@link fromJSONGraph}.
 *
 * @throws {UnsupportedError} as {@link structuralEqual}
 */
export function toJSONGraph(value: Argument): string {
  return callExtra('ffi.ToJSONGraphString', value, null) as string
}

/** Makes the value of a text of {@link toJSONGraph}. @throws {UnsupportedError} as {@link structuralEqual} */
export function fromJSONGraph(text: string): Value {
  return callExtra('ffi.FromJSONGraphString', text)
}

import { checkName } from '@tenon/core/internal'
import { getGlobal, tryGetGlobal } from '../functions/registry.ts'

/**
 * Returns the metadata that a library registered with a global function: JSON with its `type_schema`. Returns undefined if it
 * registered none.
 *
 * @throws {ValueError} if there is no such function. The hint names similar functions.
 * @example
 * functionMetadata('ffi.String') // undefined
 */
export function functionMetadata(name: string): string | undefined {
  return ask('ffi.GetGlobalFuncMetadata', name)
}

/**
 * Returns the documentation that a library registered with a global function. Returns undefined if it registered none, or if
 * the library that `TENON_TVM_FFI_LIBRARY` names does not return documentation, as that of tvm-ffi to 0.1.14.
 *
 * @throws {ValueError} if there is no such function. The hint names similar functions.
 * @example
 * functionDoc('ffi.String') // undefined
 */
export function functionDoc(name: string): string | undefined {
  return ask('ffi.GetGlobalFuncDoc', name)
}

function ask(question: string, name: string): string | undefined {
  getGlobal(checkName(name, 'name')).close()
  const answer = tryGetGlobal(question)
  try {
    return (answer?.(name) as string | undefined) || undefined
  } finally {
    answer?.close()
  }
}

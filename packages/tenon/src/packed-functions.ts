import type { BinaryInfo } from '@tenon/core'

/** The packed functions of a library, and what made it. */
export interface PackedFunctions {
  /** The convention and the compilers that follow it; undefined if the library has no packed functions. */
  readonly generation: string | undefined
  /** Sorted, without the prefix that tvm-ffi puts before them. */
  readonly names: readonly string[]
}

const PREFIX = '__tvm_ffi_'

/** What compilers export besides functions. */
const variables = new Set(['__tvm_ffi_library_ctx', '__tvm_ffi_library_bin'])

const none: PackedFunctions = { generation: undefined, names: [] }

/** Finds packed functions by the names that compilers give them, and to variables that loaders fill. Nothing is called. */
export function packedFunctions({ exports }: BinaryInfo): PackedFunctions {
  const names = new Set(exports.map(({ name }) => name))
  if (names.has('__tvm_module_ctx') && !names.has('__tvm_ffi__library_ctx'))
    return { generation: 'TVM to 0.20', names: plainFunctions(exports) }
  if (names.has('__tvm_ffi_library_ctx')) return { generation: 'TVM 0.21', names: plainFunctions(exports) }
  const prefixed = exports
    .map(({ name }) => name)
    .filter((name) => name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}_`) && !variables.has(name))
  if (prefixed.length === 0) return none
  return { generation: compilerOf(names), names: prefixed.map((name) => name.slice(PREFIX.length)).toSorted() }
}

/** Which variables a loader fills changed with TVM; kernels that are written by hand have none. */
function compilerOf(names: ReadonlySet<string>): string {
  if (names.has('__TVMFFIEnvModLookupFromImports')) return 'tvm-ffi, TVM 0.26 or newer'
  if (names.has('__TVMBackendGetFuncFromEnv')) return 'tvm-ffi, TVM 0.22 to 0.25'
  return 'tvm-ffi'
}

/** Before tvm-ffi, functions have their plain names. */
const plainFunctions = (exports: BinaryInfo['exports']): string[] =>
  exports
    .filter(({ name, kind }) => kind === 'function' && /^[A-Za-z]\w*$/.test(name))
    .map(({ name }) => name)
    .toSorted()

/** The symbol of a packed function, or of what belongs to one. */
export const isPackedSymbol = (name: string): boolean => name.startsWith(PREFIX) || /^__(tvm|TVM)/.test(name)

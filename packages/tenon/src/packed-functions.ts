import type { BinaryInfo } from '@tenon/binary'
import { isSignatureSymbol } from './signatures/marks.ts'

export interface PackedFunctions {
  /** The convention and its compilers; undefined without packed functions. */
  readonly generation: string | undefined
  /** The names, sorted, without tvm-ffi's prefix. */
  readonly names: readonly string[]
}

const PREFIX = '__tvm_ffi_'

const variables = new Set(['__tvm_ffi_library_ctx', '__tvm_ffi_library_bin'])

const none: PackedFunctions = { generation: undefined, names: [] }

/** Finds packed functions by their names and by the variables that loaders write. No function is called. */
export function packedFunctions({ exports }: BinaryInfo): PackedFunctions {
  const names = new Set(exports.map(({ name }) => name))
  if (names.has('__tvm_module_ctx') && !names.has('__tvm_ffi__library_ctx'))
    return { generation: 'TVM to 0.20', names: plainFunctions(exports) }
  if (names.has('__tvm_ffi_library_ctx')) return { generation: 'TVM 0.21', names: plainFunctions(exports) }
  const prefixed = exports
    .map(({ name }) => name)
    .filter((name) => name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}_`))
    .filter((name) => !variables.has(name) && !isSignatureSymbol(name))
  if (prefixed.length === 0) return none
  return { generation: compilerOf(names), names: prefixed.map((name) => name.slice(PREFIX.length)).toSorted() }
}

/** Tells versions of TVM apart by the variables that a loader writes. Hand-written kernels do not have them. */
function compilerOf(names: ReadonlySet<string>): string {
  if (names.has('__TVMFFIEnvModLookupFromImports')) return 'tvm-ffi, TVM 0.26 or newer'
  if (names.has('__TVMBackendGetFuncFromEnv')) return 'tvm-ffi, TVM 0.22 to 0.25'
  return 'tvm-ffi'
}

/** The functions of a library from before tvm-ffi, which have plain names. */
const plainFunctions = (exports: BinaryInfo['exports']): string[] =>
  exports
    .filter(({ name, kind }) => kind === 'function' && /^[A-Za-z]\w*$/.test(name))
    .map(({ name }) => name)
    .toSorted()

/** The name by which a module finds the packed function of a symbol. */
export const packedName = (symbol: string): string => (symbol.startsWith(PREFIX) ? symbol.slice(PREFIX.length) : symbol)

/** The symbol of a packed function of tvm-ffi. */
export const packedSymbol = (name: string): string => PREFIX + name

export const isPackedSymbol = (name: string): boolean => name.startsWith(PREFIX) || /^__(tvm|TVM)/.test(name)

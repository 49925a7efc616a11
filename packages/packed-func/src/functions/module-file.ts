import { readBinary } from '@tenon/core/internal'

/** The facts that the file of a library states about its functions. */
export interface ModuleFile {
  /** Whether it has variables or data of TVM to 0.20, and none of later versions. */
  readonly isMarkedLegacy: boolean
  /** Whether it has an entry function, and no name of tvm-ffi, so that TVM to 0.20 compiled it. */
  readonly hasLegacyEntry: boolean
  /** Whether it exports or imports names of tvm-ffi. */
  readonly usesFfi: boolean
  /** The names of functions with the prefix of tvm-ffi, which is removed. */
  readonly functions: readonly string[]
  /** The names of exported functions without the prefix, as TVM to 0.21 and programs in C have them. */
  readonly plainFunctions: readonly string[]
}

const PREFIX = '__tvm_ffi_'

/** Returns undefined for another kind of file, and for a library that the loader finds by its name. Then loading reports problems. */
export function readModuleFile(path: string): ModuleFile | undefined {
  try {
    const { exports, imports } = readBinary(path)
    const names = new Set(exports.map(({ name }) => name))
    const functions = exports.filter(({ kind }) => kind === 'function').map(({ name }) => name)
    const usesFfi =
      exports.some(({ name }) => name.startsWith(PREFIX)) || imports.some(({ name }) => name.startsWith('TVMFFI'))
    return {
      isMarkedLegacy:
        (names.has('__tvm_module_ctx') || names.has('__tvm_dev_mblob')) && !names.has('__tvm_ffi__library_ctx'),
      hasLegacyEntry: names.has('__tvm_main__') && !usesFfi,
      usesFfi,
      functions: functions
        .filter((name) => name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}_`))
        .map((name) => name.slice(PREFIX.length)),
      plainFunctions: functions.filter((name) => !name.startsWith('_')),
    }
  } catch {
    return undefined
  }
}

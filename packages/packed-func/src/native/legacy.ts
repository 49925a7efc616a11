import { LoadError, readBinary } from '@tenon/core'
import { libraryFunctions } from '@tenon/core/internal'
import { host } from './host.ts'

let isLoaded = false

/**
 * Loads what kernels of TVM to 0.20 import, if a library has such kernels: they speak the calling convention before tvm-ffi.
 *
 * @param isKnown that it has them, though nothing in it tells.
 * @throws {LoadError} if the process uses another tvm-ffi library than this package's, which can't call them.
 */
export function prepareLegacy(path: string, isKnown: boolean): void {
  if (isLoaded || (!isKnown && !isLegacy(path))) return
  const { ffi, ffiPath } = host()
  if (ffi === undefined) {
    throw new LoadError(`${path} has kernels of TVM to 0.20, and the tvm-ffi library ${ffiPath} can't call them`, {
      hint: 'unset TENON_TVM_FFI_LIBRARY to use the one of this package.',
    })
  }
  libraryFunctions('tvm_runtime').tn_tvm_legacy_install()
  isLoaded = true
}

/** Whether a library has the variables that the loaders of TVM to 0.20 filled or read. What is wrong with it, loading tells. */
function isLegacy(path: string): boolean {
  try {
    const names = new Set(readBinary(path).exports.map(({ name }) => name))
    const has = names.has('__tvm_module_ctx') || names.has('__tvm_dev_mblob')
    return has && !names.has('__tvm_ffi__library_ctx')
  } catch {
    return false
  }
}

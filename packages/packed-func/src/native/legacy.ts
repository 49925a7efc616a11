import { LoadError, readBinary } from '@tenon/core'
import { libraryFunctions } from '@tenon/core/internal'
import { host } from './host.ts'

let isLoaded = false

/**
 * Loads `libtvm_runtime` if a library has kernels of TVM to 0.20, which import it and use the calling convention before tvm-ffi.
 *
 * @param isKnown whether the caller says that it has such kernels.
 * @throws {LoadError} if the process uses a tvm-ffi library other than this package's, which cannot call them.
 */
export function prepareLegacy(path: string, isKnown: boolean): void {
  if (isLoaded || (!isKnown && !isLegacy(path))) return
  const { ffi, ffiPath } = host()
  if (ffi === undefined) {
    throw new LoadError(`${path} has kernels of TVM to 0.20, which the tvm-ffi library ${ffiPath} cannot call`, {
      hint: 'Unset TENON_TVM_FFI_LIBRARY to use the library of this package.',
      details: { path },
    })
  }
  libraryFunctions('tvm_runtime').tn_tvm_legacy_install()
  isLoaded = true
}

/** Whether a library exports the variables of the loaders of TVM to 0.20. If it cannot be read, loading reports the reason. */
function isLegacy(path: string): boolean {
  try {
    const names = new Set(readBinary(path).exports.map(({ name }) => name))
    const has = names.has('__tvm_module_ctx') || names.has('__tvm_dev_mblob')
    return has && !names.has('__tvm_ffi__library_ctx')
  } catch {
    return false
  }
}

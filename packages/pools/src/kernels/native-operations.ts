import { dirname, join } from 'node:path'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary, functionAt, type CFunction } from '@tenon/core/internal'

let run: CFunction | undefined

/** `tn_nn_run` of the library of operations, which lies beside the core. @throws {LoadError} if it is not there. */
export function nativeRun(): CFunction {
  if (run === undefined) {
    const { path } = coreLibrary()
    const file = path.slice(dirname(path).length + 1).replace('tenon', 'tenon_nnapi')
    const library = NativeLibrary.open(join(dirname(path), file))
    run = functionAt(Number(library.symbol('tn_nn_run')), 'int32_t', ['uintptr_t', 'uint32_t', 'uint32_t', 'uintptr_t'])
  }
  return run
}

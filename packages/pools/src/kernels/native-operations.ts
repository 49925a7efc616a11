import { dirname, join } from 'node:path'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary, functionAt, type CFunction } from '@tenon/core/internal'

/** The functions of the library of operations: see `csrc/pools/nnapi/nnapi.h` of the core. */
export interface NativeOperations {
  /** `tn_nn_check(program, failed)` */
  readonly check: CFunction
  /** `tn_nn_run(program, first, count, failed)` */
  readonly run: CFunction
}

let operations: NativeOperations | undefined

/** The library of operations, which lies beside the core. @throws {LoadError} if it is not there. */
export function nativeOperations(): NativeOperations {
  if (operations === undefined) {
    const { path } = coreLibrary()
    const file = path.slice(dirname(path).length + 1).replace('tenon', 'tenon_nnapi')
    const library = NativeLibrary.open(join(dirname(path), file))
    operations = {
      check: functionAt(Number(library.symbol('tn_nn_check')), 'int32_t', ['uintptr_t', 'uintptr_t']),
      run: functionAt(Number(library.symbol('tn_nn_run')), 'int32_t', [
        'uintptr_t',
        'uint32_t',
        'uint32_t',
        'uintptr_t',
      ]),
    }
  }
  return operations
}

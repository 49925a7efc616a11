import { createRequire } from 'node:module'
// The declarations of the main entry do not lead here, because koffi need not be installed.
import type koffiModule from 'koffi'
import { shared } from '../call/shared.ts'
import { checkAbi } from './check-abi.ts'
import { checkKoffi } from './check-koffi.ts'
import type { KoffiDriver } from './driver-base.ts'

/** The module koffi, as far as Tenon uses it. */
export type Koffi = Pick<
  typeof koffiModule,
  | 'address'
  | 'array'
  | 'config'
  | 'decode'
  | 'load'
  | 'pointer'
  | 'proto'
  | 'register'
  | 'struct'
  | 'union'
  | 'version'
  | 'view'
>

/** The stack size of native code in bytes, as large as a thread's. Kernels overflow koffi's default of 128 KiB. */
const STACK_SIZE = 8 * 2 ** 20

/** The koffi that the program has chosen for this thread. */
export const chosenKoffi: { koffi: Koffi | undefined } = shared('koffi', () => ({ koffi: undefined }))

/** Returns koffi, which is an optional dependency; undefined if it is not installed. @throws the error of its addon */
export function findKoffi(): Koffi | undefined {
  if (chosenKoffi.koffi !== undefined) return chosenKoffi.koffi
  try {
    return createRequire(import.meta.url)('koffi') as Koffi
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Loads a library of the core through koffi. @throws the message of the system's loader, {LoadError} */
export function openKoffi(koffi: Koffi, core: string, reason: string): KoffiDriver {
  checkKoffi(koffi)
  try {
    koffi.config({ sync_stack_size: STACK_SIZE })
  } catch {
    // The application has loaded a library with this koffi already, so its settings stay.
  }
  const library = koffi.load(core, { global: true })
  checkAbi(core, library.func('tn_abi_version', 'uint32_t', [])() as number)
  const perform = library.func('tn_call_perform', 'void', ['uintptr_t'])
  const addressOf: KoffiDriver['addressOf'] = (memory) => Number(koffi.address(memory))
  return {
    kind: 'koffi',
    reason,
    openCore: Number(library.symbol('tn_library_open_core')),
    findSymbol: Number(library.symbol('tn_library_symbol')),
    caller: (frame) => {
      const address = addressOf(frame)
      return () => perform(address)
    },
    addressOf,
    textAt: (address) => koffi.decode.string(BigInt(address)),
    bufferOver: (address, byteSize) => koffi.view(BigInt(address), byteSize),
    registerCallback: (callback) => Number(koffi.register(callback, koffi.pointer(koffi.proto('int32_t', [])))),
  }
}

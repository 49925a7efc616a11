import { LoadError } from '@tenon/core'
import {
  addressOf,
  libraryFunctions,
  libraryOfEnvironment,
  siblingPath,
  stringAt,
  type LibraryFunctions,
} from '@tenon/core/internal'
import { findEntered, type EnteredFunctions, type PackedFunctions } from './entered.ts'

export interface Host {
  readonly packed: PackedFunctions
  readonly entered: EnteredFunctions
  /** The path of the tvm-ffi library in use: that of this package, of the environment, or one that the process had loaded before. */
  readonly ffiPath: string
  /** Undefined if the library of another package is in use. */
  readonly ffi: LibraryFunctions<'tvm_ffi'> | undefined
}

let loaded: Host | undefined

/**
 * Loads the native libraries at the first call: after the core, and before any kernel.
 *
 * @throws {LoadError} if a library is missing, or the one that `TENON_TVM_FFI_LIBRARY` names cannot be used. The variable is
 * ignored with `TENON_IGNORE_ENVIRONMENT=1`, and under the permission model of Node.js.
 */
export function host(): Host {
  return (loaded ??= load())
}

function load(): Host {
  const packed = libraryFunctions('tenon_packed')
  const entered = findEntered()
  const own = siblingPath('tvm_ffi')
  // A library that is loaded already goes first, because two libraries would have two registries.
  const present = Number(packed.tn_packed_loaded_library())
  const chosen = present === 0 ? (libraryOfEnvironment('TENON_TVM_FFI_LIBRARY') ?? own) : 'libtvm_ffi'
  if (packed.tn_packed_bind(present === 0 ? openLibrary({ packed, entered }, chosen) : present) !== 0) {
    throw new LoadError(`the library ${chosen} must export the functions of tvm-ffi 0.1, but some are missing`, {
      hint: 'Unset TENON_TVM_FFI_LIBRARY to use the library of this package, or name one of version 0.1 or later.',
      details: { path: chosen },
    })
  }
  packed.tn_packed_install_allocator()
  packed.tn_packed_install_signals()
  const ffiPath = stringAt(Number(packed.tn_packed_library_path())) || chosen
  const isOwn = chosen === own
  return { packed, entered, ffiPath, ffi: isOwn ? libraryFunctions('tvm_ffi') : undefined }
}

/** Opens a tvm-ffi library globally, without its handlers of signals, and returns its handle. @throws {LoadError} */
export function openLibrary({ packed, entered }: Pick<Host, 'packed' | 'entered'>, path: string): number {
  const name = Buffer.from(path)
  const out = new BigUint64Array(1)
  if (entered.tn_packed_open_library(addressOf(name), name.length, addressOf(out)) === 0) return Number(out[0])
  const reason = stringAt(Number(packed.tn_packed_library_error()))
  throw new LoadError(`the tvm-ffi library ${path} could not be loaded: ${reason}`, {
    details: { path, tried: [{ path, reason }] },
  })
}

import { missingDependencies, readBinary, type BinaryInfo, type MissingLibrary } from '@tenon/core'
import { nativeFormat } from '@tenon/core/internal'
import { markedCalls, type MarkedCall } from '../marked-calls.ts'

/** What `tenon inspect` finds out about a library, without loading it. */
export interface InspectReport extends BinaryInfo {
  readonly path: string
  /** Needed libraries that this system's loader won't find; undefined for a library of another system. */
  readonly missing: readonly MissingLibrary[] | undefined
  /** What the library marks as a custom call. */
  readonly customCalls: readonly MarkedCall[]
  /** Packed functions of the tvm-ffi ABI, without their prefix. */
  readonly packedFunctions: readonly string[]
  /** How many typed handlers written with XLA's own C++ header it holds. Their names can't be told. */
  readonly cppHandlers: number
  /** Whether it reports failures through the status of untyped custom calls. */
  readonly usesCallStatus: boolean
  /** Whether it asks for XLA's table of functions, to register types or handlers itself. */
  readonly registersItself: boolean
  /** The functions exported besides those under plain names, as C has them. */
  readonly functions: readonly string[]
  /** How many functions are exported under names of C++ or Rust. */
  readonly mangledFunctions: number
}

const packedPrefix = '__tvm_ffi_'

/** The function that each of XLA's C++ handlers exports weakly: xla::ffi::Handler<...>::Call(...) const. */
const cppHandler = /^_ZNK?3xla3ffi7HandlerI.*E4CallE/

/** Names that C++ and Rust make of a function's name and types. */
const mangled = /^(_Z|_R|\?)/

const statusFunctions = new Set(['XlaCustomCallStatusSetSuccess', 'XlaCustomCallStatusSetFailure'])
const tableFunctions = new Set(['XLA_FFI_GetApi', '_ZN3xla3ffi12GetXlaFfiApiEv'])

/**
 * Reads the headers and symbols of a library.
 *
 * @throws {BinaryFormatError} if it is none
 * @throws the system's error if it can't be opened
 */
export function inspectLibrary(path: string): InspectReport {
  const info = readBinary(path)
  const customCalls = markedCalls(info)
  const packed = info.exports.filter(({ name }) => name.startsWith(packedPrefix)).map(({ name }) => name)
  const known = new Set([...customCalls.map(({ name }) => name), ...packed])
  const functions = info.exports.filter(({ name, kind, weak }) => kind === 'function' && !weak && !known.has(name))
  const imported = info.imports.map(({ name }) => name)
  return {
    path,
    ...info,
    missing: info.format === nativeFormat ? missingDependencies(path) : undefined,
    customCalls,
    packedFunctions: packed.map((name) => name.slice(packedPrefix.length)).toSorted(),
    cppHandlers: info.exports.filter(({ name }) => cppHandler.test(name)).length,
    usesCallStatus: imported.some((name) => statusFunctions.has(name)),
    registersItself: imported.some((name) => tableFunctions.has(name)),
    functions: functions
      .map(({ name }) => name)
      .filter((name) => !mangled.test(name))
      .toSorted(),
    mangledFunctions: functions.filter(({ name }) => mangled.test(name)).length,
  }
}

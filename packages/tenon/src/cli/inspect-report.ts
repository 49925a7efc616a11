import { missingDependencies, readBinary, type BinaryInfo, type MissingLibrary } from '@tenon/core'
import { nativeFormat } from '@tenon/core/internal'
import { handlerSignatures, type HandlerSignature } from './handler-signatures.ts'
import { markedCalls, type MarkedCall } from '../marked-calls.ts'
import { isPackedSymbol, packedFunctions } from '../packed-functions.ts'

/** What `tenon inspect` finds out about a library, without loading it. */
export interface InspectReport extends BinaryInfo {
  readonly path: string
  /** Needed libraries that this system's loader won't find; undefined for a library of another system. */
  readonly missing: readonly MissingLibrary[] | undefined
  /** What the library marks as a custom call. */
  readonly customCalls: readonly MarkedCall[]
  /** Packed functions, without their prefix. */
  readonly packedFunctions: readonly string[]
  /** Which convention they follow, and what compiles to it; undefined without packed functions. */
  readonly packedGeneration: string | undefined
  /** How many typed handlers written with XLA's own C++ header it holds. Their names can't be told. */
  readonly cppHandlers: number
  /** What the symbols of these reveal of their stages and parameters. */
  readonly cppSignatures: readonly HandlerSignature[]
  /** Whether it reports failures through the status of untyped custom calls. */
  readonly usesCallStatus: boolean
  /** Whether it asks for XLA's table of functions, to register types or handlers itself. */
  readonly registersItself: boolean
  /** The functions exported besides those under plain names, as C has them. */
  readonly functions: readonly string[]
  /** How many functions are exported under names of C++ or Rust. */
  readonly mangledFunctions: number
}

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
  const packed = packedFunctions(info)
  const known = new Set([...customCalls.map(({ name }) => name), ...packed.names])
  const functions = info.exports.filter(
    ({ name, kind, weak }) => kind === 'function' && !weak && !known.has(name) && !isPackedSymbol(name),
  )
  const imported = info.imports.map(({ name }) => name)
  return {
    path,
    ...info,
    missing: info.format === nativeFormat ? missingDependencies(path) : undefined,
    customCalls,
    packedFunctions: packed.names,
    packedGeneration: packed.generation,
    cppHandlers: info.exports.filter(({ name }) => cppHandler.test(name)).length,
    cppSignatures: handlerSignatures(info.exports.map(({ name }) => name)),
    usesCallStatus: imported.some((name) => statusFunctions.has(name)),
    registersItself: imported.some((name) => tableFunctions.has(name)),
    functions: functions
      .map(({ name }) => name)
      .filter((name) => !mangled.test(name))
      .toSorted(),
    mangledFunctions: functions.filter(({ name }) => mangled.test(name)).length,
  }
}

import { missingDependencies, readBinary, type BinaryInfo, type MissingLibrary } from '@tenon/core'
import { nativeFormat } from '@tenon/core/internal'
import { handlerSignatures, type HandlerSignature } from '../signatures/handler-signatures.ts'
import { markedCalls, type MarkedCall } from '../marked-calls.ts'
import { isPackedSymbol, packedFunctions } from '../packed-functions.ts'

export interface InspectReport extends BinaryInfo {
  readonly path: string
  /** The dependencies that this system's loader cannot find; undefined for a library of another system. */
  readonly missing: readonly MissingLibrary[] | undefined
  readonly customCalls: readonly MarkedCall[]
  /** The packed functions, without their prefix. */
  readonly packedFunctions: readonly string[]
  /** The convention of the packed functions and its compilers; undefined without packed functions. */
  readonly packedGeneration: string | undefined
  /** The number of typed handlers that were written with XLA's C++ header. Their names are not recorded. */
  readonly cppHandlers: number
  readonly cppSignatures: readonly HandlerSignature[]
  /** Whether the library reports failures through the status of untyped custom calls. */
  readonly usesCallStatus: boolean
  /** Whether the library imports XLA's table of functions, with which it registers types or handlers itself. */
  readonly registersItself: boolean
  readonly functions: readonly string[]
  /** The number of functions that are exported under mangled names of C++ or Rust. */
  readonly mangledFunctions: number
}

/** The weak export of each of XLA's C++ handlers: xla::ffi::Handler<...>::Call(...) const. */
const cppHandler = /^_ZNK?3xla3ffi7HandlerI.*E4CallE/

/** The beginnings of names that C++ and Rust mangle. */
const mangled = /^(_Z|_R|\?)/

const statusFunctions = new Set(['XlaCustomCallStatusSetSuccess', 'XlaCustomCallStatusSetFailure'])
const tableFunctions = new Set(['XLA_FFI_GetApi', '_ZN3xla3ffi12GetXlaFfiApiEv'])

/** @throws {BinaryFormatError} if the file is not a library @throws the system's error if it cannot be opened */
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

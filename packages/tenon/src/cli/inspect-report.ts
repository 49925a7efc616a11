import { formatSignature, type KernelSignature } from '@tenon/core'
import {
  missingDependencies,
  readBinary,
  readHiddenFunctions,
  type BinaryInfo,
  type MissingLibrary,
} from '@tenon/binary'
import { nativeFormat } from '@tenon/core/internal'
import { usesTensorFlow } from '@tenon/tensorflow/internal'
import { isPackedSymbol, packedFunctions } from '../packed-functions.ts'
import { splitProvided, type ProvidedLibrary } from '../registered/provided.ts'
import { registersWithTvm } from '../registered/registered.ts'
import { handlerSignatures, isCppHandler, type HandlerSignature } from '../signatures/handler-signatures.ts'
import { readSignatures, type FoundSignature, type UnreadableText } from '../signatures/read-signatures.ts'
import { SidecarError } from '../signatures/sidecar-error.ts'
import { readSidecar, type SidecarKernel } from '../signatures/sidecar.ts'

/** A signature as text, and its source. */
export interface SignatureReport extends Pick<KernelSignature, 'source'> {
  /** Undefined for the source `none`. */
  readonly signature: string | undefined
}

/** A kernel that the symbols of the library or its sidecar describe. */
export interface KernelReport extends SignatureReport, Pick<KernelSignature, 'name' | 'convention' | 'isComplete'> {
  /** The exported symbol; undefined for a kernel that the library does not export. */
  readonly symbol: string | undefined
  /** The symbol that the sidecar states, exported or not. */
  readonly statedSymbol: string | undefined
  /** The platform for which the library registers the handler itself. */
  readonly platform: string | undefined
  /** The signatures of later sources that differ. They are not used. */
  readonly differing: readonly SignatureReport[]
  readonly unreadable: readonly UnreadableText[]
}

export interface InspectReport extends BinaryInfo {
  readonly path: string
  /** The dependencies that this system's loader cannot find; undefined for a library of another system. */
  readonly missing: readonly MissingLibrary[] | undefined
  /** The dependencies that Tenon provides when it loads the library, instead of this system's loader. */
  readonly provided: readonly ProvidedLibrary[]
  readonly kernels: readonly KernelReport[]
  /** The reason why the sidecar of the library cannot be read. */
  readonly sidecarError: string | undefined
  /** The convention of the packed functions and its compilers; undefined without packed functions. */
  readonly packedGeneration: string | undefined
  /** The number of typed handlers that were written with XLA's C++ header. Their names are not recorded. */
  readonly cppHandlers: number
  readonly cppSignatures: readonly HandlerSignature[]
  /** Whether the library reports failures through the status of untyped custom calls. */
  readonly usesCallStatus: boolean
  /** Whether the library registers types or global functions with tvm-ffi when it is loaded. */
  readonly registersWithTvm: boolean
  /** Whether the library registers kernels in TensorFlow's C API when it is loaded. */
  readonly usesTensorFlow: boolean
  /** Whether the library imports XLA's table of functions, with which it registers types or handlers itself. */
  readonly registersItself: boolean
  readonly functions: readonly string[]
  /** The number of functions that are exported under mangled names of C++ or Rust. */
  readonly mangledFunctions: number
  /** The functions that the library contains but does not export. Stripped libraries do not list them. */
  readonly hidden: readonly string[]
}

/** The beginnings of names that C++ and Rust mangle. */
const mangled = /^(_Z|_R|\?)/

const statusFunctions = new Set(['XlaCustomCallStatusSetSuccess', 'XlaCustomCallStatusSetFailure'])
const tableFunctions = new Set(['XLA_FFI_GetApi', '_ZN3xla3ffi12GetXlaFfiApiEv'])

/** @throws {BinaryFormatError} if the file is not a library @throws the system's error if it cannot be opened */
export function inspectLibrary(path: string): InspectReport {
  const info = readBinary(path)
  const { kernels, sidecarError } = inspectKernels(path, info)
  const packed = packedFunctions(info)
  const known = new Set([...kernels.map(({ symbol }) => symbol), ...packed.names])
  const functions = info.exports.filter(
    ({ name, kind, weak }) => kind === 'function' && !weak && !known.has(name) && !isPackedSymbol(name),
  )
  const imported = info.imports.map(({ name }) => name)
  return {
    path,
    ...info,
    ...dependencies(path, info),
    kernels,
    sidecarError,
    packedGeneration: packed.generation,
    cppHandlers: info.exports.filter(({ name }) => isCppHandler(name)).length,
    cppSignatures: handlerSignatures(info.exports.map(({ name }) => name)),
    usesCallStatus: imported.some((name) => statusFunctions.has(name)),
    registersWithTvm: registersWithTvm(info),
    usesTensorFlow: usesTensorFlow(info),
    registersItself: imported.some((name) => tableFunctions.has(name)),
    functions: functions
      .map(({ name }) => name)
      .filter((name) => !mangled.test(name))
      .toSorted(),
    mangledFunctions: functions.filter(({ name }) => mangled.test(name)).length,
    hidden: readHiddenFunctions(path),
  }
}

function dependencies(path: string, { format }: BinaryInfo): Pick<InspectReport, 'missing' | 'provided'> {
  if (format !== nativeFormat) return { missing: undefined, provided: [] }
  return splitProvided(missingDependencies(path))
}

/** The kernels of the library. Those of a sidecar that cannot be read are missing. */
function inspectKernels(path: string, info: BinaryInfo): Pick<InspectReport, 'kernels' | 'sidecarError'> {
  const read = (sidecar: readonly SidecarKernel[]): KernelReport[] =>
    readSignatures(path, info, { sidecar }).map(describeKernel)
  try {
    return { kernels: read(readSidecar(path).kernels), sidecarError: undefined }
  } catch (error) {
    if (!(error instanceof SidecarError)) throw error
    return { kernels: read([]), sidecarError: error.sentence }
  }
}

function describeKernel({ signature, differing, unreadable, ...place }: FoundSignature): KernelReport {
  const { name, convention, isComplete } = signature
  const report = { ...describeSignature(signature), name, convention, isComplete, ...place }
  return { ...report, differing: differing.map(describeSignature), unreadable }
}

function describeSignature(signature: KernelSignature): SignatureReport {
  const { source } = signature
  return { source, signature: source === 'none' ? undefined : formatSignature(signature) }
}

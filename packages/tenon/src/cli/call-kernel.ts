import { resolve } from 'node:path'
import { readBinary, tensor, type Tensor } from '@tenon/core'
import { ApiVersion, type AttributeDictionary, type PreparedCall } from '@tenon/custom-call'
import { Library } from '../library.ts'
import type { CallConvention } from '../marked-calls.ts'
import { readNpy, writeNpy } from '../npy/npy-file.ts'
import { encodeNpyHeader } from '../npy/npy-header.ts'
import type { ResultSpec } from './tensor-spec.ts'
import { timeRuns, type Timing } from './timing.ts'
import { UsageError } from './usage-error.ts'

/** A call as the command line describes it. */
export interface CallRequest {
  readonly library: string
  readonly symbol: string
  /** The `.npy` files of the operands, in order. */
  readonly operands: readonly string[]
  readonly attributes: AttributeDictionary
  readonly results: readonly ResultSpec[]
  /** Undefined: as the library marks it. */
  readonly convention: CallConvention | undefined
  /** What a host-unified call is told. */
  readonly opaque: string | undefined
  /** How many more runs are measured. */
  readonly repeat: number
  readonly allowNewerApi: boolean
}

/** What came of a call. */
export interface CallReport {
  readonly convention: CallConvention
  /** Of XLA FFI, for a typed handler. */
  readonly version: string | undefined
  readonly operands: readonly Tensor[]
  readonly results: readonly Tensor[]
  readonly timing: Timing | undefined
}

/**
 * Opens the library, reads the operands, runs the kernel and writes the results that have a file.
 *
 * @throws {UsageError} if the command line doesn't say enough, or contradicts itself
 * @throws {XlaError} if the kernel fails; {@link TenonError} and system errors for all that goes wrong before
 */
export function callKernel(request: CallRequest): CallReport {
  // Refuses what is no library before the system's loader sees it, and element types that no file can hold.
  readBinary(request.library)
  for (const { type, path } of request.results) if (path !== undefined) encodeNpyHeader(type.dtype, type.shape)
  const library = Library.open(resolve(request.library))
  try {
    const convention = conventionOf(library, request)
    const operands = request.operands.map((path) => readNpy(path))
    const results = request.results.map(({ type }) => tensor(type.dtype, type.shape))
    const { call, version } = prepare(library, convention, request, operands)
    try {
      call.run(operands, results)
      request.results.forEach(({ path }, index) => {
        if (path !== undefined) writeNpy(path, results[index]!)
      })
      const timing = request.repeat === 0 ? undefined : measure(call, operands, results, request.repeat)
      return { convention, version, operands, results, timing }
    } finally {
      call.close()
    }
  } finally {
    library.close()
  }
}

/** The versions of untyped Host calls. */
const apiVersions = {
  host: ApiVersion.ORIGINAL,
  'host-status': ApiVersion.STATUS_RETURNING,
  'host-unified': ApiVersion.STATUS_RETURNING_UNIFIED,
} as const

function conventionOf(
  library: Library,
  { symbol, convention, attributes, results, opaque }: CallRequest,
): CallConvention {
  const hasAttributes = Object.keys(attributes).length > 0
  const marked = library.customCalls.filter(({ name }) => name === symbol).map((call) => call.convention)
  // Only typed calls have attributes. A symbol that doesn't exist is told when it is looked for.
  const guessed = hasAttributes || !library.native.has(symbol) ? 'typed' : undefined
  const chosen = convention ?? marked[0] ?? guessed
  if (chosen === undefined) {
    throw new UsageError(
      `${library.path} does not say how ${symbol} is called`,
      'say it: --abi typed for an XLA FFI handler, --abi host for void f(void* out, const void** in).',
    )
  }
  if (chosen !== 'typed' && hasAttributes) {
    throw new UsageError(`${symbol} is a ${chosen} call, which takes no --attr`)
  }
  if (chosen !== 'host-unified' && opaque !== undefined) {
    throw new UsageError(`${symbol} is a ${chosen} call, which takes no --opaque`)
  }
  if (chosen === 'host' && results.length === 0) {
    throw new UsageError(
      `${symbol} is a host call, which needs a --result to write to`,
      "such as --result 'f32[2,4]:y.npy'.",
    )
  }
  return chosen
}

function prepare(
  library: Library,
  convention: CallConvention,
  { symbol, attributes, results, opaque, allowNewerApi }: CallRequest,
  operands: readonly Tensor[],
): { call: PreparedCall; version: string | undefined } {
  const shape = { operands: operands.map(({ type }) => type), results: results.map(({ type }) => type) }
  if (convention !== 'typed') {
    const call = library.hostCall(symbol, { apiVersion: apiVersions[convention] })
    return { call: call.prepare(opaque === undefined ? shape : { ...shape, opaque }), version: undefined }
  }
  const target = library.customCall(symbol, { allowNewerApi })
  return { call: target.prepare({ ...shape, attrs: attributes }), version: target.handler.metadata.version }
}

function measure(call: PreparedCall, operands: readonly Tensor[], results: readonly Tensor[], runs: number): Timing {
  const bound = call.bind(operands, results)
  try {
    return timeRuns(() => bound.run(), runs)
  } finally {
    bound.close()
  }
}

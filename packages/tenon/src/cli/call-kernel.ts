import { resolve } from 'node:path'
import { readBinary, tensor, type Tensor } from '@tenon/core'
import {
  ApiVersion,
  deviceFunction,
  registeredHandler,
  temp,
  type Alias,
  type AttributeDictionary,
  type HandlerSymbols,
  type PreparedCall,
  type TypedHandler,
} from '@tenon/custom-call'
import { Library } from '../library.ts'
import type { CallConvention, DeviceConvention } from '../marked-calls.ts'
import { openCuda, type CudaPlace } from './cuda-place.ts'
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
  readonly convention: AnyConvention | undefined
  /** What a call is told besides its buffers, if its convention passes it. */
  readonly opaque: string | undefined
  /** How many more runs are measured. */
  readonly repeat: number
  readonly allowNewerApi: boolean
  /** The symbols of a typed target's other stages. */
  readonly stages: Omit<HandlerSymbols, 'execute'>
  /** Whether the symbol is a name under which the library registers a handler itself. */
  readonly registered: boolean
  readonly aliases: readonly Alias[]
  /** Whether typed handlers are given memory of the Host when they ask for that of a device. */
  readonly hostScratch: boolean
  /** The library of the CUDA driver; the system's without it. */
  readonly cudaDriver: string | undefined
}

/** How a kernel is called, on the Host or on a device. */
export type AnyConvention = CallConvention | DeviceConvention

/** What came of a call. */
export interface CallReport {
  readonly convention: AnyConvention
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
    const results = makeResults(request, operands)
    const device = isOnDevice(convention) ? openCuda(request.cudaDriver) : undefined
    try {
      return run(library, convention, request, { operands, results, device })
    } finally {
      device?.close()
    }
  } finally {
    library.close()
  }
}

function run(
  library: Library,
  convention: AnyConvention,
  request: CallRequest,
  { operands, results, device }: Pick<CallReport, 'operands' | 'results'> & { readonly device: CudaPlace | undefined },
): CallReport {
  const place = (host: Tensor): Tensor => device?.place(host) ?? host
  const [given, made] = [operands.map(place), results.map(place)]
  const { call, version } = prepare(library, convention, request, given, device)
  try {
    call.run(given, made)
    device?.fetch(results)
    writtenResults(request).forEach(({ path }, index) => {
      if (path !== undefined) writeNpy(path, results[index]!)
    })
    const timing = request.repeat === 0 ? undefined : measure(call, given, made, request.repeat, device)
    return { convention, version, operands, results, timing }
  } finally {
    call.close()
  }
}

/** The results that are printed or written. */
export function writtenResults({ results }: Pick<CallRequest, 'results'>): readonly ResultSpec[] {
  return results.filter(({ isTemp }) => !isTemp)
}

/** Their tensors: those that lie where operands do are those operands. */
function makeResults(request: CallRequest, operands: readonly Tensor[]): Tensor[] {
  return writtenResults(request).map(({ type }, index) => {
    const alias = request.aliases.find(({ result }) => result === index)
    const operand = alias === undefined ? undefined : operands[alias.operand]
    return operand ?? tensor(type.dtype, type.shape)
  })
}

/** The versions of untyped calls. */
const apiVersions = {
  host: ApiVersion.ORIGINAL,
  'host-status': ApiVersion.STATUS_RETURNING,
  'host-unified': ApiVersion.STATUS_RETURNING_UNIFIED,
  cuda: ApiVersion.ORIGINAL,
  'cuda-status': ApiVersion.STATUS_RETURNING,
} as const

const isTyped = (convention: AnyConvention): convention is 'typed' | 'cuda-typed' =>
  convention === 'typed' || convention === 'cuda-typed'
const isOnDevice = (convention: AnyConvention): convention is DeviceConvention => convention.startsWith('cuda')
/** Those that pass an opaque string. */
const opaqueConventions: ReadonlySet<AnyConvention> = new Set(['host-unified', 'cuda', 'cuda-status'])

function conventionOf(library: Library, request: CallRequest): AnyConvention {
  const { symbol, convention, attributes, results, opaque } = request
  const hasAttributes = Object.keys(attributes).length > 0
  if (request.registered || Object.keys(request.stages).length > 0 || request.hostScratch) {
    if (convention !== undefined && !isTyped(convention)) {
      throw new UsageError(`--registered, --stage and --host-scratch are for typed calls, not for --abi ${convention}`)
    }
  }
  if (request.registered) return convention ?? 'typed'
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
  if (!isTyped(chosen) && hasAttributes) {
    throw new UsageError(`${symbol} is a ${chosen} call, which takes no --attr`)
  }
  if (!opaqueConventions.has(chosen) && opaque !== undefined) {
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
  convention: AnyConvention,
  request: CallRequest,
  operands: readonly Tensor[],
  device: CudaPlace | undefined,
): { call: PreparedCall; version: string | undefined } {
  const { symbol, attributes, opaque, aliases, hostScratch } = request
  const results = request.results.map(({ type, isTemp }) => (isTemp ? temp(type) : type))
  const onStream = device === undefined ? {} : { stream: device.stream }
  const shape = { operands: operands.map(({ type }) => type), results, aliases, ...onStream }
  if (isTyped(convention)) {
    const handler = findHandler(library, request, convention)
    return { call: handler.prepare({ ...shape, attrs: attributes, hostScratch }), version: handler.metadata.version }
  }
  const options = { apiVersion: apiVersions[convention] }
  const target = isOnDevice(convention)
    ? deviceFunction(library.native, symbol, options)
    : library.hostCall(symbol, options).function
  return { call: target.prepare(opaque === undefined ? shape : { ...shape, opaque }), version: undefined }
}

function findHandler(
  library: Library,
  { symbol, stages, registered, allowNewerApi }: CallRequest,
  convention: 'typed' | 'cuda-typed',
): TypedHandler {
  const options = { allowNewerApi, platform: isOnDevice(convention) ? 'CUDA' : 'Host' }
  if (registered) return registeredHandler(symbol, options)
  return library.customCall({ execute: symbol, ...stages }, options).handler
}

/** A run on a device is over when its stream is idle. */
function measure(
  call: PreparedCall,
  operands: readonly Tensor[],
  results: readonly Tensor[],
  runs: number,
  device: CudaPlace | undefined,
): Timing {
  const bound = call.bind(operands, results)
  try {
    return timeRuns(() => {
      bound.run()
      device?.stream.synchronize()
    }, runs)
  } finally {
    bound.close()
  }
}

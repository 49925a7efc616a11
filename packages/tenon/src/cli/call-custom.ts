import { resolve } from 'node:path'
import { tensor, type KernelConvention, type Tensor } from '@tenon/core'
import type { BinaryInfo } from '@tenon/binary'
import { didYouMean, withLayout } from '@tenon/core/internal'
import {
  ApiVersion,
  deviceFunction,
  NotFoundError,
  registeredFunction,
  registeredHandler,
  registeredNames,
  temp,
  type Alias,
  type AttributeDictionary,
  type HandlerSymbols,
  type PreparedCall,
  type PrepareOptions,
  type TypedHandler,
  type UntypedFunction,
} from '@tenon/custom-call'
import { Library } from '../library.ts'
import { isCustomCall, type CallConvention, type DeviceConvention } from './call-conventions.ts'
import { openCuda, type CudaPlace } from './cuda-place.ts'
import { writeNpy, encodeNpyHeader } from '@tenon/weights'
import { readOperand, splitLayout, type LayoutSpec } from './layout-spec.ts'
import type { ResultSpec } from './tensor-spec.ts'
import { timeRuns, type Timing } from './timing.ts'
import { InputError } from './input-error.ts'
import { UsageError } from './usage-error.ts'

export interface CallRequest {
  readonly library: string
  readonly symbol: string
  /** The `.npy` files of the operands, in order. */
  readonly operands: readonly string[]
  readonly attributes: AttributeDictionary
  readonly results: readonly ResultSpec[]
  /** The convention; undefined for the known one. */
  readonly convention: CallConvention | undefined
  /** The convention that the library or its sidecar states. */
  readonly known: KernelConvention | undefined
  /** The opaque string, which only some conventions pass. */
  readonly opaque: string | undefined
  /** The number of further runs, which are measured. */
  readonly repeat: number
  readonly allowNewerApi: boolean
  /** The symbols of the other stages of a typed target. */
  readonly stages: Omit<HandlerSymbols, 'execute'>
  /** Whether the symbol is a name under which the library registers a handler itself. */
  readonly registered: boolean
  readonly aliases: readonly Alias[]
  /** Whether typed handlers get host memory when they ask for device memory. */
  readonly hostScratch: boolean
  /** The path of the CUDA driver's library; undefined for the system's. */
  readonly cudaDriver: string | undefined
}

export interface CallReport {
  readonly convention: CallConvention
  /** The version of XLA FFI that a typed handler reports. */
  readonly version: string | undefined
  readonly operands: readonly Tensor[]
  readonly results: readonly Tensor[]
  readonly timing: Timing | undefined
}

/**
 * Opens the library, reads the operands, runs the kernel and writes the results that have a file.
 *
 * @param info the headers and symbols of the library
 * @throws {UsageError} if the command line is incomplete, or contradicts itself
 * @throws {XlaError} if the kernel fails
 * @throws {TenonError} and system errors if the call cannot be prepared
 */
export function callCustom(request: CallRequest, info: BinaryInfo): CallReport {
  refuseUnwritable(request.results)
  const library = Library.openRead(resolve(request.library), info)
  try {
    const convention = conventionOf(library, request)
    const specs = request.operands.map(splitLayout)
    const operands = specs.map(({ text, layout }) => readOperand(text, layout))
    const layouts = layoutsOf(specs, request, convention)
    const results = makeResults(request, operands)
    const device = isOnDevice(convention) ? openCuda(request.cudaDriver) : undefined
    try {
      return run(library, convention, request, { operands, results, device, layouts })
    } finally {
      device?.close()
    }
  } finally {
    library.close()
  }
}

function run(
  library: Library,
  convention: CallConvention,
  request: CallRequest,
  { operands, results, device, layouts }: Pick<CallReport, 'operands' | 'results'> & CallPlace,
): CallReport {
  const place = (host: Tensor): Tensor => device?.place(host) ?? host
  const [placedOperands, placedResults] = [operands.map(place), results.map(place)]
  const { call, version } = prepare(library, convention, request, placedOperands, { device, layouts })
  try {
    call.run(placedOperands, placedResults)
    device?.fetch(results)
    writeResults(writtenResults(request), results)
    const timing =
      request.repeat === 0 ? undefined : measure(call, placedOperands, placedResults, request.repeat, device)
    return { convention, version, operands, results, timing }
  } finally {
    call.close()
  }
}

/** Refuses results with element types that a `.npy` file cannot contain, before anything runs. */
export function refuseUnwritable(results: readonly ResultSpec[]): void {
  for (const { type, path } of results) if (path !== undefined) encodeNpyHeader(type.dtype, type.shape)
}

export function writeResults(specs: readonly ResultSpec[], results: readonly Tensor[]): void {
  specs.forEach(({ path }, index) => {
    if (path !== undefined) writeNpy(path, results[index]!)
  })
}

/** The results that are printed or written. */
export function writtenResults({ results }: Pick<CallRequest, 'results'>): readonly ResultSpec[] {
  return results.filter(({ isTemp }) => !isTemp)
}

/** The device and the layouts of a call. */
interface CallPlace {
  readonly device: CudaPlace | undefined
  readonly layouts: Pick<PrepareOptions, 'layouts'>
}

/** The layouts that the command line gives, by position. @throws {UsageError} if the call is one for a device. */
function layoutsOf(
  operands: readonly LayoutSpec[],
  { results }: CallRequest,
  convention: CallConvention,
): Pick<PrepareOptions, 'layouts'> {
  const written = results.filter(({ isTemp }) => !isTemp)
  const layouts = { operands: operands.map(({ layout }) => layout), results: written.map(({ layout }) => layout) }
  if ([...layouts.operands, ...layouts.results].every((layout) => layout === undefined)) return {}
  if (!isOnDevice(convention)) return { layouts }
  throw new UsageError('a layout, as in a.npy@cm, must be that of a call on the Host, got a call on a device')
}

function makeResults(request: CallRequest, operands: readonly Tensor[]): Tensor[] {
  return writtenResults(request).map(({ type, layout }, index) => {
    const alias = request.aliases.find(({ result }) => result === index)
    const operand = alias === undefined ? undefined : operands[alias.operand]
    const { strides } = layout === undefined ? type : withLayout(type, layout)
    return operand ?? tensor(type.dtype, type.shape, undefined, strides === undefined ? {} : { strides })
  })
}

const apiVersions = {
  host: ApiVersion.ORIGINAL,
  'host-status': ApiVersion.STATUS_RETURNING,
  'host-unified': ApiVersion.STATUS_RETURNING_UNIFIED,
  cuda: ApiVersion.ORIGINAL,
  'cuda-status': ApiVersion.STATUS_RETURNING,
} as const

const isTyped = (convention: CallConvention): convention is 'typed' | 'cuda-typed' =>
  convention === 'typed' || convention === 'cuda-typed'
const isOnDevice = (convention: CallConvention): convention is DeviceConvention => convention.startsWith('cuda')
const opaqueConventions: ReadonlySet<CallConvention> = new Set(['host-unified', 'cuda', 'cuda-status'])

function conventionOf(library: Library, request: CallRequest): CallConvention {
  const { symbol, convention, known, attributes, results, opaque } = request
  const hasAttributes = Object.keys(attributes).length > 0
  if (Object.keys(request.stages).length > 0 || request.hostScratch) {
    if (convention !== undefined && !isTyped(convention)) {
      throw new UsageError(`--stage and --host-scratch must be used with a typed call, got --abi ${convention}`)
    }
  }
  if (request.registered && convention === undefined) return 'typed'
  // Only typed calls have attributes. A symbol that does not exist is refused when it is looked up.
  const guessed = hasAttributes || !library.native.has(symbol) ? 'typed' : undefined
  const chosen = convention ?? (isCustomCall(known) ? known : undefined) ?? guessed
  if (chosen === undefined) {
    throw new UsageError(
      `${library.path} does not mark the calling convention of ${symbol}`,
      'Pass --abi typed for an XLA FFI handler, or --abi host for void f(void* out, const void** in).',
    )
  }
  if (!isTyped(chosen) && hasAttributes) {
    throw new UsageError(`${symbol} is a ${chosen} call, which does not accept --attr`)
  }
  if (!opaqueConventions.has(chosen) && opaque !== undefined) {
    throw new UsageError(`${symbol} is a ${chosen} call, which does not accept --opaque`)
  }
  if (chosen === 'host' && results.length === 0) {
    throw new UsageError(
      `${symbol} is a host call, which needs a --result to write to`,
      "Pass for example --result 'f32[2,4]:y.npy'.",
    )
  }
  return chosen
}

function prepare(
  library: Library,
  convention: CallConvention,
  request: CallRequest,
  operands: readonly Tensor[],
  { device, layouts }: CallPlace,
): { call: PreparedCall; version: string | undefined } {
  const { attributes, opaque, aliases, hostScratch } = request
  const results = request.results.map(({ type, isTemp }) => (isTemp ? temp(type) : type))
  const onStream = device === undefined ? {} : { stream: device.stream }
  const shape = { operands: operands.map(({ type }) => type), results, aliases, ...layouts, ...onStream }
  if (isTyped(convention)) {
    const handler = findHandler(library, request, convention)
    return { call: handler.prepare({ ...shape, attrs: attributes, hostScratch }), version: handler.metadata.version }
  }
  const target = findFunction(library, request, convention)
  return { call: target.prepare(opaque === undefined ? shape : { ...shape, opaque }), version: undefined }
}

function findFunction(
  library: Library,
  { symbol, registered }: CallRequest,
  convention: keyof typeof apiVersions,
): UntypedFunction {
  const options = { apiVersion: apiVersions[convention] }
  if (!registered) {
    return isOnDevice(convention)
      ? deviceFunction(library.native, symbol, options)
      : library.hostCall(symbol, options).function
  }
  try {
    return registeredFunction(symbol, { ...options, platform: isOnDevice(convention) ? 'CUDA' : 'Host' })
  } catch (error) {
    throw explainUnregistered(error, library, symbol)
  }
}

function findHandler(
  library: Library,
  { symbol, stages, registered, allowNewerApi }: CallRequest,
  convention: 'typed' | 'cuda-typed',
): TypedHandler {
  const options = { allowNewerApi, platform: isOnDevice(convention) ? 'CUDA' : 'Host' }
  try {
    if (registered) return registeredHandler(symbol, options)
  } catch (error) {
    throw explainUnregistered(error, library, symbol)
  }
  return library.customCall({ execute: symbol, ...stages }, options).handler
}

/** The error for a handler that the library does not register, or the error as it is. */
export function explainUnregistered(error: unknown, { path }: Library, symbol: string): unknown {
  if (!(error instanceof NotFoundError)) return error
  const names = new Set(registeredNames().map(({ name }) => name))
  return new InputError(
    `${path} does not register a handler or function named ${JSON.stringify(symbol)}`,
    didYouMean(symbol, names) ?? 'Run tenon inspect --handlers with the library to see the handlers that it registers.',
  )
}

/** Measures runs. A run on a device ends when its stream is idle. */
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

import { ArgumentError, type NativeLibrary } from '@tenon/core'
import {
  checkName,
  checkOptions,
  checkSize,
  coreFunctions,
  didYouMean,
  globalGate,
  inspectAsText,
  LAYOUTS,
  statusName,
  wrongType,
  wrongValue,
  type Gate,
} from '@tenon/core/internal'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { snapshot } from '../attributes/snapshot.ts'
import { PreparedCall } from '../call/prepared-call.ts'
import { refused } from '../errors/xla-error-classes.ts'
import type { Stage } from '../errors/xla-error.ts'
import { addressesOf, STAGES, type ByStage, type HandlerAddresses } from '../native/descriptor.ts'
import { isCommandBufferCompatible, readMetadata, type HandlerMetadata } from '../native/read-metadata.ts'
import { callShape, checkPrepareOptions, PREPARE_OPTIONS, type PrepareOptions } from '../shape/call-shape.ts'
import { checkResources, type ResourceOptions } from './call-resources.ts'
import { checkLibrary } from './code.ts'
import { canonicalPlatform, deviceTypeOf } from './platform.ts'
import { findRegistered, refusedRegistration, registeredNames } from './registered-names.ts'
import { openTypedTarget } from './typed-target.ts'

/** The symbols of a target's handlers by stage. */
export type HandlerSymbols = ByStage<string>

/** The options with which handlers are looked up. */
export interface HandlerOptions {
  /** Whether to accept handlers for XLA FFI 0.5 and later 0.x. API functions that this runtime lacks return UNIMPLEMENTED. */
  readonly allowNewerApi?: boolean
  /** Whether the device work of handlers that do not declare the trait themselves can be captured and replayed. */
  readonly commandBufferCompatible?: boolean
  /**
   * The platform of the handlers: `Host` (the default), `CUDA` or `ROCM`. As in XLA, the comparison ignores case, `cpu` means
   * `Host`, and `gpu` means `CUDA`.
   */
  readonly platform?: string
}

/** The operands, results, attributes and resources of a typed call. */
export interface TypedPrepareOptions extends PrepareOptions, ResourceOptions {
  /** The attributes, by name. */
  readonly attrs?: AttributeDictionary
  /**
   * The device number that handlers can request. It starts at 0. Default: the number of the stream's device, or -1 if that
   * number is unknown. Handlers that use the first headers of 0.1 cannot request the number.
   */
  readonly deviceOrdinal?: number
}

export const TYPED_PREPARE_OPTIONS: readonly (keyof TypedPrepareOptions)[] = [
  ...PREPARE_OPTIONS,
  'attrs',
  'deviceOrdinal',
  'userData',
  'hostScratch',
  'stream',
]

const UNKNOWN_DEVICE = -1
const HOST = 1

/** Checks the options of a handler. @throws {ArgumentError} */
export function checkHandlerOptions(options: HandlerOptions | undefined): HandlerOptions {
  return checkOptions(options, ['allowNewerApi', 'commandBufferCompatible', 'platform'])
}

/** A typed custom call. Created by {@link typedHandler} and {@link registeredHandler}. */
export class TypedHandler {
  /** The symbol of the execute handler, or the registered name. */
  readonly name: string
  /** The platform, as the caller wrote it. */
  readonly platform: string
  readonly metadata: HandlerMetadata
  /** The stages that have a handler. */
  readonly stages: readonly Stage[]
  /** @internal */
  readonly gate: Gate
  /** @internal */
  readonly addresses: HandlerAddresses

  /** @internal */
  constructor(name: string, gate: Gate, addresses: HandlerAddresses, options: HandlerOptions, path?: string) {
    this.name = name
    this.platform = checkName(options.platform ?? 'Host', 'platform')
    this.gate = gate
    this.addresses = addresses
    this.stages = Object.freeze(STAGES.filter((stage) => addresses[stage] !== 0))
    this.metadata = askAll(name, this.stages, addresses, options, path)
  }

  /**
   * Lays out a call for tensors of these types and runs the instantiate handler, if there is one. The tensors of a device
   * handler must be on that device: `tensor(dtype, shape, segment, { device: { type: 2, id: 0 } })` for CUDA.
   *
   * @throws {ArgumentError} if a type or attribute cannot be passed. @throws {XlaError} if the handler fails.
   * @throws {UnimplementedError} if the platform of the handler is unknown.
   * @throws {ScopeClosedError} if the library, or memory that is lent, is closed.
   */
  prepare(options: TypedPrepareOptions): PreparedCall {
    this.gate.owner.checkOpen()
    const { name } = this
    const given = checkPrepareOptions(name, options, TYPED_PREPARE_OPTIONS)
    const deviceType = deviceTypeOf(this.platform, name)
    const shape = callShape(name, given, deviceType)
    const { attrs: givenAttributes = {}, deviceOrdinal: ordinal } = given
    // A copy, so that the memory which is held open is that of the encoded pointers.
    const attrs = snapshot(givenAttributes) as AttributeDictionary
    const resources = checkResources(name, deviceType !== HOST, given)
    checkOrdinal(ordinal)
    const deviceOrdinal = ordinal ?? resources.stream?.ordinal ?? UNKNOWN_DEVICE
    const memory = memoryOf(attrs)
    const used = memory.length === 0 ? resources : { ...resources, gated: [...resources.gated, ...memory] }
    return new PreparedCall(openTypedTarget(this, { shape, attrs, deviceOrdinal }, used), shape)
  }

  toString(): string {
    return `TypedHandler ${this.name} (XLA FFI ${this.metadata.version}, ${this.platform})`
  }
}
inspectAsText(TypedHandler)

function checkOrdinal(ordinal: number | undefined): void {
  if (ordinal === undefined || checkSize(ordinal, 'deviceOrdinal', 'devices') < 2 ** 31) return
  throw wrongValue('deviceOrdinal', 'below 2^31', ordinal)
}

/**
 * Looks up a typed handler in a library by its symbol, or by the symbols of its stages.
 *
 * The functions are called to request their version, so every symbol must be a typed handler.
 *
 * @throws {LoadError} if a symbol is missing. @throws {VersionSkewError} if the handler was built for another version.
 * @throws {ArgumentError} if a function does not respond as handlers do, or `library` is not a library.
 * @example
 * const library = NativeLibrary.open('./libkernels.so')
 * const handler = typedHandler(library, 'rms_norm')
 * handler.metadata.version // '0.1'
 */
export function typedHandler(
  library: NativeLibrary,
  symbols: string | HandlerSymbols,
  options?: HandlerOptions,
): TypedHandler {
  checkLibrary(library)
  const checked = checkHandlerOptions(options)
  const names = typeof symbols === 'string' ? { execute: symbols } : checkOptions(symbols, STAGES, 'symbols')
  if (typeof names.execute !== 'string') {
    throw wrongType('symbols', 'the name of a symbol, or names by stage with execute', symbols)
  }
  const addresses = addressesOf((stage) => {
    const name = names[stage]
    return name === undefined ? 0 : library.functionAddress(name)
  })
  return new TypedHandler(names.execute, library.gate, addresses, checked, library.path)
}

/**
 * Looks up a typed handler that a library registered itself when it was loaded, by its registered name.
 *
 * @throws {NotFoundError} if no handler has the name, or its registration was refused. @throws {VersionSkewError} if it was
 * refused because of its version. @throws the errors of {@link typedHandler}.
 * @example
 * NativeLibrary.open('./libkernels_runtime.so')
 * const handler = registeredHandler('negate')
 */
export function registeredHandler(name: string, options?: HandlerOptions): TypedHandler {
  const checked = checkHandlerOptions(options)
  const platform = checkName(checked.platform ?? 'Host', 'platform')
  checkName(name, 'name')
  const { size, offsets } = LAYOUTS.tn_xla_registered_t
  const out = new DataView(new ArrayBuffer(size))
  out.setBigUint64(offsets.struct_size, BigInt(size), true)
  const status = findRegistered(coreFunctions().tn_xla_find_handler, name, platform, out)
  const isAccepted = status === 0 || (checked.allowNewerApi === true && statusName(status) === 'VERSION_MISMATCH')
  if (!isAccepted) throw refusedRegistration(name, platform, 'typed') ?? notRegistered(name, platform)
  const isCompatible = isCommandBufferCompatible(out.getUint32(offsets.traits, true))
  return new TypedHandler(
    name,
    globalGate,
    addressesOf((_, index) => Number(out.getBigUint64(offsets.handlers + 8 * index, true))),
    isCompatible ? { ...checked, commandBufferCompatible: true } : checked,
  )
}

function notRegistered(name: string, platform: string): Error {
  const text = `No FFI handler registered for ${name} on a platform ${platform} (canonical ${canonicalPlatform(platform)})`
  const names = registeredNames().flatMap((one) => (one.convention === 'typed' ? one.name : []))
  return refused('NOT_FOUND', name, text, { hint: didYouMean(name, names) })
}

/** Asks every handler of a target. All must have one version, because they share one frame and one function table. */
function askAll(
  name: string,
  stages: readonly Stage[],
  addresses: HandlerAddresses,
  { allowNewerApi = false, commandBufferCompatible = false }: HandlerOptions,
  path: string | undefined,
): HandlerMetadata {
  const answers = stages.map((stage) =>
    readMetadata(addresses[stage], stage === 'execute' ? name : `${name} (${stage})`, allowNewerApi, path),
  )
  const execute = answers[stages.indexOf('execute')]!
  const other = answers.findIndex(({ version }) => version !== execute.version)
  if (other >= 0) {
    throw new ArgumentError(
      `the handlers of ${name} must be built for one version of XLA FFI, ${stages[other]} is for ${answers[other]!.version} and execute for ${execute.version}`,
    )
  }
  return Object.freeze({
    ...execute,
    commandBufferCompatible: commandBufferCompatible || execute.commandBufferCompatible,
    // The first handler makes the state, so it knows the type.
    stateTypeId: answers[0]!.stateTypeId,
  })
}

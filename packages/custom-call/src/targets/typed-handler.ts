import { ArgumentError, ArgumentRangeError, type NativeLibrary } from '@tenon/core'
import {
  addressOf,
  checkName,
  checkSize,
  coreFunctions,
  describe,
  type Gate,
  globalGate,
  keepAlive,
  lastError,
  LAYOUTS,
} from '@tenon/core/internal'
import { NotFoundError } from '../errors/xla-error-classes.ts'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { PreparedCall } from '../call/prepared-call.ts'
import { encodeDescriptor, type HandlerAddresses } from '../native/descriptor.ts'
import { coreError, STAGES } from '../native/read-failure.ts'
import { readMetadata, type HandlerMetadata } from '../native/read-metadata.ts'
import type { Stage } from '../errors/xla-error.ts'
import { callShape, type PrepareOptions } from '../shape/call-shape.ts'
import { leavesOf } from '../shape/leaf.ts'
import { canonicalPlatform, noDevice } from '../registry/refusals.ts'
import { checkResources, type ResourceOptions } from './call-resources.ts'
import { openTypedTarget } from './typed-target.ts'

/** The symbols of a target's handlers by stage. */
export interface HandlerSymbols {
  readonly execute: string
  readonly instantiate?: string
  readonly prepare?: string
  readonly initialize?: string
}

/** How handlers are accepted. */
export interface HandlerOptions {
  /** Accepts handlers built for a newer XLA FFI than 0.3; functions that this runtime lacks answer UNIMPLEMENTED. */
  readonly allowNewerApi?: boolean
  /** Says for handlers that don't say so themselves that their device work can be captured once and replayed. */
  readonly commandBufferCompatible?: boolean
  /** What the handlers were written for: `Host` without it, or a device, `CUDA` or `ROCM`. Compared as XLA does: without case, `cpu` is `Host`, `gpu` is `CUDA`. */
  readonly platform?: string
}

/** What a typed call is prepared for. */
export interface TypedPrepareOptions extends PrepareOptions, ResourceOptions {
  /** The attributes, by name. */
  readonly attrs?: AttributeDictionary
  /** What handlers learn when they ask for their device: its number, from 0; -1, unknown, without it. Those of the first headers of 0.1 can't ask. */
  readonly deviceOrdinal?: number
}

const UNKNOWN_DEVICE = -1

/** The types of devices by canonical platform, as DLPack numbers them. */
const DEVICE_TYPES: Readonly<Record<string, number>> = { host: 1, cuda: 2, rocm: 10 }

function checkOrdinal(value: unknown): number {
  const ordinal = checkSize(value, 'deviceOrdinal', 'devices')
  if (ordinal < 2 ** 31) return ordinal
  throw new ArgumentRangeError(`deviceOrdinal must be below 2^31, got ${ordinal}`)
}

/** A typed custom call, found and asked for its version. Made by {@link typedHandler} and {@link registeredHandler}. */
export class TypedHandler {
  /** The symbol of the execute handler, or the registered name. */
  readonly name: string
  /** What it was written for, as it was given. */
  readonly platform: string
  /** What its handlers tell about themselves. */
  readonly metadata: HandlerMetadata
  /** The stages that have a handler. */
  readonly stages: readonly Stage[]
  /** @internal */
  readonly gate: Gate
  /** @internal */
  readonly addresses: HandlerAddresses

  /** @internal */
  constructor(name: string, gate: Gate, addresses: HandlerAddresses, options: HandlerOptions) {
    this.name = name
    this.platform = checkName(options.platform ?? 'Host', 'platform')
    this.gate = gate
    this.addresses = addresses
    this.stages = Object.freeze(
      (['instantiate', 'prepare', 'initialize', 'execute'] as const).filter((stage) => addresses[stage] !== 0),
    )
    this.metadata = askAll(name, this.stages, addresses, options)
  }

  /**
   * For which stage its execute handler really is: a symbol does not tell. It is asked to prepare a call of nothing, which one
   * for the prepare stage does, and others refuse with the name of theirs. Only for handlers that were written with a header of
   * XLA or Tenon, which check it; undefined if the answer doesn't tell.
   *
   * @throws {XlaError} if it throws a C++ exception. @throws {ScopeClosedError} if the library is closed.
   */
  askStage(): Stage | undefined {
    if (!this.gate.open) this.gate.owner.checkOpen()
    const out = new Int32Array([-1, 0])
    const { tn_xla_ask_stage: ask } = coreFunctions()
    const status = ask(this.addresses.execute, this.metadata.minor, addressOf(out))
    if (status !== 0) throw coreError(status, this.name)
    return STAGES[out[0]!]
  }

  /**
   * Lays out a call for tensors of these types and runs the instantiate handler, if there is one. Tensors of a device's
   * handler must be on that device: `tensor(dtype, shape, segment, { device: { type: 2, id: 0 } })` for CUDA.
   *
   * @throws {ArgumentError} if a type or attribute can't be passed. @throws {XlaError} if the handler fails.
   * @throws {UnimplementedError} if it is a handler of a platform that nothing is known of.
   * @throws {ScopeClosedError} if the library, or memory that is lent, is closed.
   */
  prepare(options: TypedPrepareOptions): PreparedCall {
    if (!this.gate.open) this.gate.owner.checkOpen()
    const deviceType = DEVICE_TYPES[canonicalPlatform(this.platform)]
    if (deviceType === undefined) throw noDevice(this.name, this.platform)
    const shape = callShape(this.name, options, deviceType)
    const { leaves } = shape
    const { deviceOrdinal, attrs = {} } = options
    const resources = checkResources(this.name, deviceType !== DEVICE_TYPES['host'], options)
    const operandCount = leavesOf(shape.operands).length
    const descriptor = encodeDescriptor({
      minor: this.metadata.minor,
      deviceOrdinal:
        deviceOrdinal === undefined ? (resources.stream?.ordinal ?? UNKNOWN_DEVICE) : checkOrdinal(deviceOrdinal),
      handlers: this.addresses,
      operands: leaves.slice(0, operandCount),
      results: leaves.slice(operandCount),
      attributes: attrs,
    })
    const used = { ...resources, gated: [...resources.gated, ...memoryOf(attrs)] }
    const { commandBufferCompatible } = this.metadata
    return new PreparedCall(
      openTypedTarget(this.name, this.gate, descriptor, leaves, used, commandBufferCompatible),
      shape,
    )
  }
}

/**
 * A typed handler of a library, by its symbol, or by the symbols of its stages.
 *
 * The functions are called to ask for their version: name typed handlers only.
 *
 * @throws {LoadError} if there is no such symbol. @throws {VersionSkewError} if the handler was built for another version.
 * @throws {ArgumentError} if it does not answer as handlers do.
 * @example
 * const library = NativeLibrary.open('./libkernels.so')
 * const handler = typedHandler(library, 'rms_norm')
 * handler.metadata.version // '0.1'
 */
export function typedHandler(
  library: NativeLibrary,
  symbols: string | HandlerSymbols,
  options: HandlerOptions = {},
): TypedHandler {
  const names: HandlerSymbols = typeof symbols === 'string' ? { execute: symbols } : symbols
  if (typeof names !== 'object' || names === null || typeof names.execute !== 'string') {
    throw new ArgumentError(
      `symbols must be the name of a symbol, or names by stage with execute, got ${describe(symbols)}`,
    )
  }
  const address = (name: string | undefined): number => (name === undefined ? 0 : Number(library.symbol(name)))
  const addresses = {
    instantiate: address(names.instantiate),
    prepare: address(names.prepare),
    initialize: address(names.initialize),
    execute: address(names.execute),
  }
  return new TypedHandler(names.execute, library.gate, addresses, options)
}

/**
 * A typed handler that a library registered itself when it was loaded, by its registered name.
 *
 * @throws {NotFoundError} if nothing is registered under the name. Otherwise as {@link typedHandler}.
 * @example
 * NativeLibrary.open('./libregisters.so')
 * const handler = registeredHandler('negate')
 */
export function registeredHandler(name: string, options: HandlerOptions = {}): TypedHandler {
  const [nameBytes, platformBytes] = [checkName(name, 'name'), checkName(options.platform ?? 'Host', 'platform')].map(
    (text) => Buffer.from(text),
  ) as [Buffer, Buffer]
  const { size, offsets } = LAYOUTS.tn_xla_bundle_t
  const bundle = new BigUint64Array(size / 8)
  const status = coreFunctions().tn_xla_find_handler(
    addressOf(nameBytes),
    nameBytes.length,
    addressOf(platformBytes),
    platformBytes.length,
    addressOf(bundle),
  )
  keepAlive(nameBytes)
  keepAlive(platformBytes)
  if (status !== 0) {
    throw new NotFoundError({ xlaCode: 5, text: lastError(), target: name, stage: 'execute', refused: true })
  }
  const address = (offset: number): number => Number(bundle[offset / 8])
  const addresses = {
    instantiate: address(offsets.instantiate),
    prepare: address(offsets.prepare),
    initialize: address(offsets.initialize),
    execute: address(offsets.execute),
  }
  return new TypedHandler(name, globalGate, addresses, options)
}

/** Asks every handler of a target; all must be of one version, because they share one frame and one table. */
function askAll(
  name: string,
  stages: readonly Stage[],
  addresses: HandlerAddresses,
  { allowNewerApi = false, commandBufferCompatible = false }: HandlerOptions,
): HandlerMetadata {
  const answers = stages.map((stage) =>
    readMetadata(addresses[stage], stage === 'execute' ? name : `${name} (${stage})`, allowNewerApi),
  )
  const execute = answers.at(-1)!
  const other = answers.findIndex(({ version }) => version !== execute.version)
  if (other >= 0) {
    throw new ArgumentError(
      `the handlers of ${name} must be built for one version of XLA FFI, ${stages[other]} is for ${answers[other]!.version} and execute for ${execute.version}`,
    )
  }
  // The type of the state is known to the handler that makes it.
  return Object.freeze({
    ...execute,
    commandBufferCompatible: commandBufferCompatible || execute.commandBufferCompatible,
    stateTypeId: answers[0]!.stateTypeId,
  })
}

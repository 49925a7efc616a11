import { ArgumentError, type NativeLibrary } from '@tenon/core'
import {
  checkName,
  checkOptions,
  coreFunctions,
  globalGate,
  inspectAsText,
  wrongType,
  type Gate,
} from '@tenon/core/internal'
import { str } from '../attributes/attribute.ts'
import { PreparedCall } from '../call/prepared-call.ts'
import { callShape, checkPrepareOptions, PREPARE_OPTIONS, type PrepareOptions } from '../shape/call-shape.ts'
import { ApiVersion, apiVersionName, checkUntypedVersion, type UntypedApiVersion } from './api-version.ts'
import { streamHandleOf, type DeviceStream } from './call-resources.ts'
import { checkLibrary } from './code.ts'
import { deviceTypeOf, missing } from './platform.ts'
import { findRegistered, refusedRegistration, registeredNames, type RegisteredName } from './registered-names.ts'
import { UntypedTarget } from './untyped-target.ts'

/** The operands, results and opaque string of an untyped call. */
export interface UntypedPrepareOptions extends PrepareOptions {
  /** Arbitrary bytes for the function, in addition to its buffers. A string is encoded as UTF-8. */
  readonly opaque?: string | Uint8Array
  /** Host only. Whether tuples are passed as nested arrays of pointers (the default), or flattened, as in current XLA. */
  readonly tuples?: 'nested' | 'flattened'
  /**
   * Devices only. The stream on which the function enqueues its work, as an address or an object with a `handle`. Default:
   * 0n, which is the device's default stream.
   */
  readonly stream?: bigint | DeviceStream
}

export const UNTYPED_PREPARE_OPTIONS: readonly (keyof UntypedPrepareOptions)[] = [
  ...PREPARE_OPTIONS,
  'opaque',
  'tuples',
  'stream',
]

/** The options of an untyped Host function. */
export interface HostFunctionOptions {
  /** The convention of the function. Default: ORIGINAL. */
  readonly apiVersion?: UntypedApiVersion
}

/** The options of an untyped device function. */
export interface DeviceFunctionOptions extends HostFunctionOptions {
  /** The platform of the function. Default: CUDA. */
  readonly platform?: DevicePlatform
}

/** The platforms whose functions receive a stream and device pointers. */
export type DevicePlatform = 'CUDA' | 'ROCM'

/** The options of an untyped function by name. */
export interface UntypedOptions extends HostFunctionOptions {
  /** The platform, which is compared exactly. Default: `Host`. */
  readonly platform?: 'Host' | DevicePlatform
}

/**
 * A function with one of the untyped conventions. Such a function cannot check its buffers, so prepare it for the types that
 * it was written for. Created by {@link hostFunction} and {@link deviceFunction}.
 */
export class UntypedFunction {
  /** The symbol, or the registered name. */
  readonly name: string
  readonly platform: 'Host' | DevicePlatform
  readonly apiVersion: UntypedApiVersion
  /** @internal */
  readonly gate: Gate
  /** @internal */
  readonly address: number

  /** @internal */
  constructor(
    name: string,
    platform: 'Host' | DevicePlatform,
    apiVersion: UntypedApiVersion,
    gate: Gate,
    address: number,
  ) {
    this.name = name
    this.platform = platform
    this.apiVersion = checkUntypedVersion(apiVersion, name)
    this.gate = gate
    this.address = address
  }

  /**
   * Lays out a call for tensors of these types. On the Host, `in[k]` points to the data of operand k, or to the array of
   * pointers of a tuple, and `out` points to the data of the result, or to the array of pointers of several results. Device
   * functions receive one array, with all leaves of the operands in pre-order, followed by the leaves of the results.
   *
   * Pass the tensors of the leaves to a run in that order, without tuples, tokens and scratch memory.
   *
   * @throws {ArgumentError} if a type cannot be passed, or an option does not apply to this convention.
   * @throws {ScopeClosedError} if the library is closed.
   */
  prepare(options: UntypedPrepareOptions): PreparedCall {
    this.gate.owner.checkOpen()
    const { name, platform, apiVersion } = this
    const given = checkPrepareOptions(name, options, UNTYPED_PREPARE_OPTIONS)
    const onDevice = platform !== 'Host'
    const shape = callShape(name, given, deviceTypeOf(platform, name))
    const { opaque, tuples, stream } = given
    if (!onDevice) checkOpaquePassed(name, opaque, apiVersion)
    const object = typeof stream === 'object' ? stream : undefined
    const call = {
      functionAddress: this.address,
      apiVersion,
      onDevice,
      tuples: checkTuples(tuples, onDevice, name),
      opaque: str(opaque === undefined ? '' : opaque).bytes,
      stream: streamHandleOf(name, onDevice, stream) ?? 0,
      device: object?.deviceAddress ?? 0,
    }
    return new PreparedCall(new UntypedTarget(name, this.gate, shape, call, object), shape)
  }

  toString(): string {
    return `UntypedFunction ${this.name} (${apiVersionName(this.apiVersion)}, ${this.platform})`
  }
}
inspectAsText(UntypedFunction)

/** Refuses an opaque string that a Host function would not get. @throws {ArgumentError} */
export function checkOpaquePassed(name: string, opaque: unknown, apiVersion: UntypedApiVersion): void {
  if (opaque === undefined || apiVersion === ApiVersion.STATUS_RETURNING_UNIFIED) return
  throw new ArgumentError(
    `opaque must not be given to ${name}, because ${apiVersionName(apiVersion)} does not pass it`,
    {
      hint: 'Leave opaque out, or give the function the apiVersion that it was written for.',
    },
  )
}

function checkTuples(tuples: unknown, onDevice: boolean, name: string): 'nested' | 'flattened' {
  if (tuples === undefined) return onDevice ? 'flattened' : 'nested'
  if (tuples === 'flattened' || (tuples === 'nested' && !onDevice)) return tuples
  throw wrongType(`tuples of ${name}`, onDevice ? "'flattened' on devices" : "'nested' or 'flattened'", tuples)
}

/**
 * Looks up an untyped Host function in a library.
 *
 * @throws {LoadError} if the symbol is missing. @throws {InvalidArgumentError} if the convention is unknown.
 * @throws {ScopeClosedError} if the library is closed.
 * @example
 * const add = hostFunction(library, 'do_custom_call')
 * using call = add.prepare({ operands: [f32([128]), f32([2048])], results: [f32([2048])] })
 * call.run([b, c], [a])
 */
export function hostFunction(library: NativeLibrary, symbol: string, options?: HostFunctionOptions): UntypedFunction {
  checkLibrary(library)
  const { apiVersion = ApiVersion.ORIGINAL } = checkOptions(options, ['apiVersion'])
  return new UntypedFunction(symbol, 'Host', apiVersion, library.gate, library.functionAddress(symbol))
}

/**
 * Looks up an untyped device function in a library. The function is called on the host, receives device pointers, and
 * enqueues its work on the stream. Its tensors must be on the device, for example
 * `tensor(dtype, shape, segment, { device: { type: 2, id: 0 } })`.
 *
 * @throws {LoadError} if the symbol is missing. @throws {InvalidArgumentError} if the convention is unknown.
 * @throws {ArgumentError} if the platform is unknown. @throws {ScopeClosedError} if the library is closed.
 */
export function deviceFunction(
  library: NativeLibrary,
  symbol: string,
  options?: DeviceFunctionOptions,
): UntypedFunction {
  checkLibrary(library)
  const { apiVersion = ApiVersion.ORIGINAL, platform = 'CUDA' } = checkOptions(options, ['apiVersion', 'platform'])
  checkDevicePlatform(platform)
  return new UntypedFunction(symbol, platform, apiVersion, library.gate, library.functionAddress(symbol))
}

/**
 * Looks up a function of an untyped convention that a library registered itself when it was loaded, as the macro
 * `XLA_REGISTER_CUSTOM_CALL_TARGET` does. Neither the function nor its registration tells which convention it has.
 *
 * @throws {NotFoundError} if no function has the name, or its registration was refused. @throws {InvalidArgumentError} if the convention
 * is unknown. @throws {ArgumentError} if the platform is unknown.
 * @example
 * NativeLibrary.open('./libkernels_macro.so')
 * const add = registeredFunction('macro_add')
 */
export function registeredFunction(name: string, options?: UntypedOptions): UntypedFunction {
  const { platform = 'Host', apiVersion = ApiVersion.ORIGINAL } = checkOptions(options, ['platform', 'apiVersion'])
  if (platform !== 'Host') checkDevicePlatform(platform)
  const out = new BigUint64Array(1)
  const status = findRegistered(coreFunctions().tn_xla_find_function, checkName(name, 'name'), platform, out)
  if (status === 0) return new UntypedFunction(name, platform, apiVersion, globalGate, Number(out[0]))
  const isLike = (one: RegisteredName): boolean => one.convention === 'untyped' && one.platform === platform
  const names = registeredNames()
    .filter(isLike)
    .map((one) => one.name)
  throw refusedRegistration(name, platform, 'untyped') ?? missing(name, platform, false, names)
}

/** Checks that the functions of a platform have the convention of devices. @throws {ArgumentError} */
export function checkDevicePlatform(platform: unknown): asserts platform is DevicePlatform {
  if (platform !== 'CUDA' && platform !== 'ROCM') throw wrongType('platform', "'CUDA' or 'ROCM'", platform)
}

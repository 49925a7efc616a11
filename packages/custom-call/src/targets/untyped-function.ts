import { ArgumentError, type NativeLibrary } from '@tenon/core'
import { describe, type Gate } from '@tenon/core/internal'
import { str } from '../attributes/attribute.ts'
import { PreparedCall } from '../call/prepared-call.ts'
import { callShape, type PrepareOptions } from '../shape/call-shape.ts'
import { ApiVersion, checkUntypedVersion, type UntypedApiVersion } from './api-version.ts'
import type { DeviceStream } from './call-resources.ts'
import { openUntypedTarget } from './untyped-target.ts'

/** What an untyped call is prepared for. */
export interface UntypedPrepareOptions extends PrepareOptions {
  /** What the function is told besides its buffers: any bytes. Text is encoded as UTF-8. */
  readonly opaque?: string | Uint8Array
  /** Host only: tuples as pointers to arrays of pointers, at any depth (the default), or flattened, as XLA does today. */
  readonly tuples?: 'nested' | 'flattened'
  /**
   * Devices only: the stream that the function enqueues its work on, as its address or as an object that has one; 0n, the
   * default, is the device's own.
   */
  readonly stream?: bigint | DeviceStream
}

/** How untyped functions of the Host are called. */
export interface HostFunctionOptions {
  /** The convention that the function was written for; ORIGINAL without it. */
  readonly apiVersion?: UntypedApiVersion
}

/** How untyped functions for devices are called. */
export interface DeviceFunctionOptions extends HostFunctionOptions {
  /** What it was written for; CUDA without it. */
  readonly platform?: DevicePlatform
}

/** Platforms whose functions get a stream and device pointers. */
export type DevicePlatform = 'CUDA' | 'ROCM'

/** The types of devices, as DLPack numbers them. */
const DEVICE_TYPES = { Host: 1, CUDA: 2, ROCM: 10 } as const

const LARGEST_STREAM = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * A function of one of the untyped conventions. It can't check what it is given: the types it is prepared for must be
 * those that it was written for. Made by {@link hostFunction} and {@link deviceFunction}.
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
   * Lays out a call for tensors of these types. On the Host, `in[k]` is the data of operand k, or, if that is a tuple, its
   * array of pointers; `out` is the data of the result, or, for several results, the array of their pointers. Devices get
   * one array: all leaves of the operands in pre-order, then those of the results.
   *
   * A run is given the leaves' tensors in that order, whatever the tuples; none for tokens and scratch.
   *
   * @throws {ArgumentError} if a type can't be passed, or an option says nothing to a function of this convention.
   * @throws {ScopeClosedError} if the library is closed.
   */
  prepare(options: UntypedPrepareOptions): PreparedCall {
    if (!this.gate.open) this.gate.owner.checkOpen()
    const { name, platform, apiVersion } = this
    const onDevice = platform !== 'Host'
    const shape = callShape(name, options, DEVICE_TYPES[platform])
    const { opaque, tuples, stream } = options
    if (opaque !== undefined && !onDevice && apiVersion !== ApiVersion.STATUS_RETURNING_UNIFIED) {
      throw new ArgumentError(`${name} gets no opaque string: on the Host only STATUS_RETURNING_UNIFIED passes it`, {
        hint: 'leave opaque out, or give the function the apiVersion that it was written for.',
      })
    }
    const call = {
      functionAddress: this.address,
      apiVersion,
      onDevice,
      tuples: checkTuples(tuples, onDevice, name),
      opaque: str(opaque ?? '').bytes,
      stream: checkStream(stream, onDevice, name),
      device: typeof stream === 'object' ? (stream.deviceAddress ?? 0) : 0,
    }
    const object = typeof stream === 'object' ? stream : undefined
    return new PreparedCall(openUntypedTarget(name, this.gate, shape, call, object), shape)
  }
}

function checkTuples(tuples: unknown, onDevice: boolean, name: string): 'nested' | 'flattened' {
  if (tuples === undefined) return onDevice ? 'flattened' : 'nested'
  if (tuples === 'flattened' || (tuples === 'nested' && !onDevice)) return tuples
  throw new ArgumentError(
    `tuples of ${name} must be ${onDevice ? "'flattened' on devices" : "'nested' or 'flattened'"}, got ${describe(tuples)}`,
  )
}

function checkStream(stream: unknown, onDevice: boolean, name: string): number {
  if (stream === undefined) return 0
  if (!onDevice) throw new ArgumentError(`${name} is a Host function, which gets no stream`)
  const handle = typeof stream === 'object' ? (stream as Partial<DeviceStream> | null)?.handle : stream
  if (typeof handle === 'bigint' && handle >= 0n && handle <= LARGEST_STREAM) return Number(handle)
  throw new ArgumentError(
    `the stream of ${name} must be a bigint, the address of a stream, or have one, got ${describe(stream)}`,
  )
}

/**
 * An untyped function of a library for the Host.
 *
 * @throws {LoadError} if there is no such symbol. @throws {InvalidArgumentError} if there is no such convention.
 * @throws {ScopeClosedError} if the library is closed.
 * @example
 * const add = hostFunction(library, 'do_custom_call')
 * using call = add.prepare({ operands: [f32([128]), f32([2048])], results: [f32([2048])] })
 * call.run([b, c], [a])
 */
export function hostFunction(
  library: NativeLibrary,
  symbol: string,
  { apiVersion = ApiVersion.ORIGINAL }: HostFunctionOptions = {},
): UntypedFunction {
  return new UntypedFunction(symbol, 'Host', apiVersion, library.gate, Number(library.symbol(symbol)))
}

/**
 * An untyped function of a library for devices: it is called on the host, gets device pointers, and enqueues its work on
 * the stream. Its tensors must be on the device: `tensor(dtype, shape, segment, { device: { type: 2, id: 0 } })`.
 *
 * @throws {LoadError} if there is no such symbol. @throws {InvalidArgumentError} if there is no such convention.
 * @throws {ArgumentError} if the platform is unknown. @throws {ScopeClosedError} if the library is closed.
 */
export function deviceFunction(
  library: NativeLibrary,
  symbol: string,
  { apiVersion = ApiVersion.ORIGINAL, platform = 'CUDA' }: DeviceFunctionOptions = {},
): UntypedFunction {
  checkDevicePlatform(platform)
  return new UntypedFunction(symbol, platform, apiVersion, library.gate, Number(library.symbol(symbol)))
}

/** @throws {ArgumentError} if functions of a platform are not called as those of devices are */
export function checkDevicePlatform(platform: unknown): asserts platform is DevicePlatform {
  if (platform === 'CUDA' || platform === 'ROCM') return
  throw new ArgumentError(`platform must be 'CUDA' or 'ROCM', got ${describe(platform)}`)
}

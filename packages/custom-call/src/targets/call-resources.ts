import { ArgumentError, Segment, Tensor } from '@tenon/core'
import {
  addressOf,
  checkStatus,
  coreFunctions,
  LAYOUTS,
  writeAddress,
  wrongType,
  type Gate,
  type Gated,
} from '@tenon/core/internal'
import type { DeviceScratch } from '../call/device-scratch.ts'
import { isAddress } from './code.ts'
import type { HandlerType } from './handler-type.ts'

/** User data, which the handlers of a call look up by its type. */
export interface LentData {
  /** The type, or its id. */
  readonly type: HandlerType | bigint
  /** Memory, which is held open until the call is closed, or an address, for which you are responsible. */
  readonly data: Segment | Tensor | bigint
}

/**
 * A device stream. A {@link CudaStream} is held open while prepared calls use it. You are responsible for the lifetime of a
 * stream from another library.
 */
export interface DeviceStream {
  /** The driver's handle of the stream, or 0n for the device's default stream. */
  readonly handle: bigint
  /** @internal held while calls are prepared for the stream */
  readonly gate?: Gate
  /** @internal the address of a `tn_xla_memory_t` for handlers that allocate, valid while the gate is open */
  readonly memoryAddress?: number
  /** @internal the address of a `tn_xla_device_t`, if the device is more than the handle; valid likewise */
  readonly deviceAddress?: number
  /** @internal the number of the device */
  readonly ordinal?: number
  /** @internal Allocates memory in the order of the stream, and returns its address. @throws {CudaError} @throws {ScopeClosedError} */
  allocateScratch?(byteSize: number): number
  /** @internal Frees it after the work that is in the stream now. */
  freeScratch?(address: number): void
  /** @internal Keeps operands open until the work that is in the stream now is done. */
  keep?(held: readonly Gated[]): void
  /** Settles when all work that is currently in the stream is done. */
  finished?(): Promise<void>
}

/** The resources that the handlers of a typed call can request, besides operands, results and attributes. */
export interface ResourceOptions {
  /** Objects that handlers can look up by type (`ctx.Get<T>()` in C++), from the prepare stage on. */
  readonly userData?: readonly LentData[]
  /**
   * Host only. Whether handlers that request device memory receive host memory, which is aligned to 64 bytes. Without the
   * option, such requests are refused, as in XLA. Memory that a handler does not free is freed when the run ends.
   */
  readonly hostScratch?: boolean
  /**
   * Devices only. The stream on which handlers enqueue their work, as an address or an object with a `handle`. 0n is the
   * device's default stream. Without the option, handlers that request a stream receive an error.
   */
  readonly stream?: bigint | DeviceStream
}

export interface CallResources {
  /** The stream, if it is an object. */
  readonly stream: DeviceStream | undefined
  /** The operands that the call holds open. */
  readonly gated: readonly Gated[]
  /** The scratch of the call on a device. */
  readonly scratch?: DeviceScratch | undefined
  /** Gives the resources to a call by its address, before its handlers run. */
  give(call: number): void
}

/** The resources of a call on the Host that names none. */
const NO_RESOURCES: CallResources = Object.freeze({ stream: undefined, gated: [], give: () => undefined })

/** Checks the resources of a call. @throws {ArgumentError} if one is invalid, or has no meaning on this platform. */
export function checkResources(name: string, onDevice: boolean, options: ResourceOptions): CallResources {
  const { userData: given, hostScratch = false, stream } = options
  if (given === undefined && !hostScratch && stream === undefined && !onDevice) return NO_RESOURCES
  const userData = given === undefined ? [] : given
  if (!Array.isArray(userData)) {
    throw wrongType(`the userData of ${name}`, 'an array', userData, 'Write userData: [{ type, data: segment }].')
  }
  if (hostScratch && onDevice) {
    throw new ArgumentError(`hostScratch must not be given to ${name}, which is a handler of a device`)
  }
  const handle = streamHandleOf(name, onDevice, stream)
  const gated: Gated[] = []
  const lent = Array.from(userData as (Partial<LentData> | null)[], (entry, i) => {
    const place = `userData ${i} of ${name}`
    return { id: checkTypeId(entry?.type, place), address: checkData(entry?.data, place, gated) }
  })
  lent.forEach(({ id }, i) => {
    const first = lent.findIndex((other) => other.id === id)
    if (first !== i) throw new ArgumentError(`userData ${i} of ${name} must not have the type of userData ${first}`)
  })
  const object = typeof stream === 'object' ? stream : undefined
  if (object?.gate !== undefined) gated.push({ gate: object.gate })
  // The core reads it during the call, which keeps it reachable.
  const description = onDevice ? describeDevice(handle) : undefined
  return {
    stream: object,
    gated,
    give(call): void {
      const { tn_xla_lend: lend, tn_xla_give_memory: giveMemory, tn_xla_on_device: putOnDevice } = coreFunctions()
      for (const { id, address } of lent) checkStatus(lend(call, id, address), `lending data to ${name}`)
      const memory = hostScratch ? 0 : object?.memoryAddress
      if (memory !== undefined) checkStatus(giveMemory(call, memory), `giving memory to ${name}`)
      if (description === undefined) return
      const device = object?.deviceAddress ?? addressOf(description)
      checkStatus(putOnDevice(call, device), `putting ${name} on a device`)
    },
  }
}

function checkTypeId(type: unknown, place: string): bigint {
  const id = typeof type === 'object' && type !== null ? (type as Partial<HandlerType>).id : type
  if (typeof id === 'bigint' && id !== 0n && BigInt.asIntN(64, id) === id) return id
  throw wrongType(`the type of ${place}`, 'a registered type or its id', type, 'Make it with registerType().')
}

function checkData(data: unknown, place: string, gated: Gated[]): number {
  if (isAddress(data)) return Number(data)
  if (data instanceof Tensor) return checkData(data.segment, place, gated)
  if (!(data instanceof Segment)) throw wrongType(`the data of ${place}`, 'a segment, a tensor or an address', data)
  gated.push(data.block)
  return Number(data.address)
}

/** Checks a stream and returns its handle; undefined without a stream. @throws {ArgumentError} */
export function streamHandleOf(name: string, onDevice: boolean, stream: unknown): number | undefined {
  if (stream === undefined) return undefined
  if (!onDevice) throw new ArgumentError(`stream must not be given to ${name}, which runs on the Host`)
  const handle = typeof stream === 'object' ? (stream as Partial<DeviceStream> | null)?.handle : stream
  if (handle === 0n || isAddress(handle)) return Number(handle)
  throw wrongType(`the stream of ${name}`, 'the address of a stream or an object with a handle', stream)
}

function describeDevice(stream: number | undefined): DataView {
  const { size, offsets } = LAYOUTS.tn_xla_device_t
  const view = new DataView(new ArrayBuffer(size))
  view.setUint32(offsets.struct_size, size, true)
  view.setInt32(offsets.has_stream, stream === undefined ? 0 : 1, true)
  writeAddress(view, offsets.stream, stream ?? 0)
  return view
}

import { ArgumentError, Segment, Tensor } from '@tenon/core'
import {
  addressOf,
  checkStatus,
  coreFunctions,
  describe,
  type Gate,
  type Gated,
  LAYOUTS,
  pointerBits,
} from '@tenon/core/internal'
import type { HandlerType } from './handler-type.ts'

/** Data that a call's handlers find by its type. */
export interface LentData {
  /** A type, or its id. */
  readonly type: HandlerType | bigint
  /** Memory, which stays open as long as the call; or an address, for which the caller vouches. */
  readonly data: Segment | Tensor | bigint
}

/**
 * A stream of a device. A {@link CudaStream} is one, and stays open as long as calls are prepared for it; for one of another
 * library, the caller vouches.
 */
export interface DeviceStream {
  /** What the driver calls it; 0n is the device's own. */
  readonly handle: bigint
  /** @internal held while calls are prepared for it */
  readonly gate?: Gate
  /** @internal the address of a `tn_xla_memory_t`, for handlers that allocate; it lives as long as the gate */
  readonly memoryAddress?: number
  /** @internal the address of a `tn_xla_device_t`, if there is more to it than the handle; likewise */
  readonly deviceAddress?: number
  /** @internal the number of its device */
  readonly ordinal?: number
  /** @internal keeps operands open until what is in the stream now is done */
  keep?(held: readonly Gated[]): void
  /** Settles when what is in the stream now is done. */
  finished?(): Promise<void>
}

/** What handlers of a typed call are given besides operands, results and attributes. */
export interface ResourceOptions {
  /** Objects that handlers find by their type, from the prepare stage on (`ctx.Get<T>()` in C++). */
  readonly userData?: readonly LentData[]
  /**
   * Host only: gives handlers memory when they ask for that of the device, 64-byte aligned; XLA refuses it on the Host, and so
   * does this without the option. What a handler does not give back is freed when its run ends.
   */
  readonly hostScratch?: boolean
  /**
   * Devices only: the stream that handlers enqueue their work on, as its address, or as an object that has one; 0n is the
   * device's own. Without it, handlers that ask for a stream learn that there is none.
   */
  readonly stream?: bigint | DeviceStream
}

/** The same, checked. */
export interface CallResources {
  readonly lent: readonly { readonly id: bigint; readonly address: number }[]
  /** The address of a `tn_xla_memory_t`; 0 for memory of the Host; undefined for none. */
  readonly memory: number | undefined
  /** A `tn_xla_device_t`, or the address of one, for calls of a device. */
  readonly device: DataView | number | undefined
  /** The stream, if it is an object. */
  readonly stream: DeviceStream | undefined
  /** What the call holds open. */
  readonly gated: readonly Gated[]
}

const LARGEST_ADDRESS = BigInt(Number.MAX_SAFE_INTEGER)

/** @throws {ArgumentError} if an option says nothing, or nothing on this platform. */
export function checkResources(name: string, onDevice: boolean, options: ResourceOptions): CallResources {
  const { userData = [], hostScratch = false, stream } = options
  if (!Array.isArray(userData)) {
    throw new ArgumentError(`the userData of ${name} must be an array, got ${describe(userData)}`, {
      hint: 'write userData: [{ type, data: segment }].',
    })
  }
  if (stream !== undefined && !onDevice) throw new ArgumentError(`${name} is a Host handler, which gets no stream`)
  if (hostScratch && onDevice) throw new ArgumentError(`${name} is a handler of a device, which gets no host scratch`)
  const gated: Gated[] = []
  const lent = userData.map((entry: Partial<LentData> | null, i) => {
    const place = `userData ${i} of ${name}`
    return { id: checkTypeId(entry?.type, place), address: checkData(entry?.data, place, gated) }
  })
  const twice = lent.findIndex(({ id }, i) => lent.findIndex((other) => other.id === id) !== i)
  if (twice >= 0) throw new ArgumentError(`userData ${twice} of ${name} is of a type that is lent already`)
  const object = typeof stream === 'object' && stream !== null ? stream : undefined
  if (object?.gate !== undefined) gated.push({ gate: object.gate })
  return {
    stream: object,
    lent,
    memory: hostScratch ? 0 : object?.memoryAddress,
    device: onDevice ? (object?.deviceAddress ?? describeDevice(name, stream)) : undefined,
    gated,
  }
}

function checkTypeId(type: unknown, place: string): bigint {
  const id = typeof type === 'object' && type !== null ? (type as Partial<HandlerType>).id : type
  if (typeof id === 'bigint' && id !== 0n && BigInt.asIntN(64, id) === id) return id
  throw new ArgumentError(`the type of ${place} must be a registered type or its id, got ${describe(type)}`, {
    hint: 'make it with registerType().',
  })
}

function checkData(data: unknown, place: string, gated: Gated[]): number {
  if (typeof data === 'bigint' && data > 0n && data <= LARGEST_ADDRESS) return Number(data)
  if (data instanceof Tensor) return checkData(data.segment, place, gated)
  if (data instanceof Segment) {
    gated.push(data.block)
    return Number(data.address)
  }
  throw new ArgumentError(`the data of ${place} must be a segment, a tensor or an address, got ${describe(data)}`)
}

function describeDevice(name: string, stream: unknown): DataView {
  const handle = typeof stream === 'object' && stream !== null ? (stream as Partial<DeviceStream>).handle : stream
  if (stream !== undefined && !(typeof handle === 'bigint' && handle >= 0n && handle <= LARGEST_ADDRESS)) {
    throw new ArgumentError(
      `the stream of ${name} must be the address of a stream or have one, got ${describe(stream)}`,
    )
  }
  const { size, offsets } = LAYOUTS.tn_xla_device_t
  const view = new DataView(new ArrayBuffer(size))
  view.setUint32(offsets.struct_size, size, true)
  view.setInt32(offsets.has_stream, handle === undefined ? 0 : 1, true)
  view.setFloat64(offsets.stream, pointerBits(Number(handle ?? 0n)), true)
  return view
}

/** Gives them to a call, before its handlers run. */
export function giveResources(name: string, call: number, { lent, memory, device }: CallResources): void {
  const { tn_xla_lend: lend, tn_xla_give_memory: giveMemory, tn_xla_on_device: onDevice } = coreFunctions()
  for (const { id, address } of lent) checkStatus(lend(call, id, address), `lending data to ${name}`)
  if (memory !== undefined) checkStatus(giveMemory(call, memory), `giving memory to ${name}`)
  if (device === undefined) return
  const address = typeof device === 'number' ? device : addressOf(device)
  checkStatus(onDevice(call, address), `putting ${name} on a device`)
}

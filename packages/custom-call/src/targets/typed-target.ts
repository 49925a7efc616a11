import { TensorType, type Hold, type TenonError } from '@tenon/core'
import {
  addressOf,
  checkStatus,
  CONSTANTS,
  coreFunctions,
  type Gate,
  holdAll,
  LAYOUTS,
  releaseAll,
  writeAddress,
} from '@tenon/core/internal'
import type { AttributeDictionary } from '../attributes/encode-attributes.ts'
import { CallTarget, type Remains } from '../call/call-target.ts'
import { deviceScratch, type DeviceScratch } from '../call/device-scratch.ts'
import { allocateFrame, planScratch, type CallFrame } from '../native/call-frame.ts'
import { encodeDescriptor, freeDescriptor, type HandlerAddresses } from '../native/descriptor.ts'
import { enterCore } from '../native/enter-core.ts'
import { readFailure } from '../native/read-failure.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { CallResources } from './call-resources.ts'

const { offsets: HEAD } = LAYOUTS.tn_xla_call_head_t
const { size: BUFFER_SIZE, offsets: BUFFER } = LAYOUTS.tn_xla_buffer_t

/** A handler, as far as its calls need it. */
export interface CalledHandler {
  readonly name: string
  readonly gate: Gate
  readonly addresses: HandlerAddresses
  /** `commandBufferCompatible`: whether its work on a stream can be captured once and replayed. */
  readonly metadata: { readonly minor: number; readonly commandBufferCompatible: boolean }
}

/** The facts that the frames of a call are laid out from. */
export interface TypedCall {
  readonly shape: CallShape
  readonly attrs: AttributeDictionary
  readonly deviceOrdinal: number
}

const NO_HOLDS: readonly Hold[] = Object.freeze([])

/** The native memory of a call, and what the memory refers to. */
class TypedRemains implements Remains {
  readonly #frame: CallFrame
  /** The frame refers to their memory. */
  readonly resources: CallResources
  readonly #holds: readonly Hold[]
  /** Whether the call may keep a state, whose destructor is code of the library. */
  readonly #hasState: boolean

  /** @throws {ScopeClosedError} if memory of the resources is closed. */
  constructor(frame: CallFrame, resources: CallResources, hasState: boolean) {
    this.#frame = frame
    this.resources = resources
    this.#holds = resources.gated.length === 0 ? NO_HOLDS : holdAll(resources.gated)
    this.#hasState = hasState
  }

  get scratch(): DeviceScratch | undefined {
    return this.resources.scratch
  }

  free(): number {
    const { address } = this.#frame
    const status = this.#hasState ? enterCore('tn_xla_close', address) : coreFunctions().tn_xla_close(address)
    this.scratch?.freeAll()
    releaseAll(this.#holds)
    return status
  }
}

class TypedTarget extends CallTarget {
  override get convention(): 'typed' {
    return 'typed'
  }

  // Without an object of its own, because programs can have many calls.
  readonly #handler: CalledHandler
  readonly #shape: CallShape
  readonly #attrs: AttributeDictionary
  readonly #deviceOrdinal: number

  constructor(handler: CalledHandler, call: TypedCall, frame: CallFrame, remains: TypedRemains) {
    super(handler.name, CONSTANTS.TN_XLA_JOB_TYPED, handler.gate, frame, remains.resources.stream, remains)
    this.#handler = handler
    this.#shape = call.shape
    this.#attrs = call.attrs
    this.#deviceOrdinal = call.deviceOrdinal
  }

  /** The state of a stage can depend on shapes. */
  override get isResizable(): boolean {
    const { instantiate, prepare, initialize } = this.#handler.addresses
    return instantiate === 0 && prepare === 0 && initialize === 0
  }

  override get isCapturable(): boolean {
    return this.#handler.metadata.commandBufferCompatible
  }

  extend(): CallFrame {
    const call = { shape: this.#shape, attrs: this.#attrs, deviceOrdinal: this.#deviceOrdinal }
    const more = buildFrame(this.#handler, call, this.scratch)
    checkStatus(coreFunctions().tn_xla_share(more.address, this.frame.address), `sharing the state of ${this.name}`)
    return more
  }

  failure({ address }: CallFrame, status: number, batchIndex?: number): TenonError {
    return readFailure('typed', address, status, this.name, batchIndex)
  }
}

/**
 * Lays out the frame of a typed call and runs the instantiate handler, if there is one.
 *
 * @throws {XlaError} if that handler fails. @throws {NativeError} if the core refuses the descriptor.
 * @throws {ScopeClosedError} if memory that it uses is closed.
 */
export function openTypedTarget(handler: CalledHandler, call: TypedCall, resources: CallResources): CallTarget {
  const { name } = handler
  const hasState = handler.addresses.instantiate !== 0
  const scratch = deviceScratch(call.shape, resources.stream)
  const frame = buildFrame(handler, call, scratch)
  const remains = remainsOf(frame, scratch === undefined ? resources : { ...resources, scratch }, hasState)
  try {
    resources.give(frame.address)
    const status = hasState ? enterCore('tn_xla_instantiate', frame.address) : 0
    if (status !== 0) throw readFailure('typed', frame.address, status, name)
  } catch (error) {
    remains.free()
    throw error
  }
  return new TypedTarget(handler, call, frame, remains)
}

function remainsOf(frame: CallFrame, resources: CallResources, hasState: boolean): TypedRemains {
  try {
    return new TypedRemains(frame, resources, hasState)
  } catch (error) {
    resources.scratch?.freeAll()
    throw error
  }
}

/** Where the core writes the size of a frame. */
const frameSize = new BigUint64Array(1)

function buildFrame(
  handler: CalledHandler,
  { shape, attrs, deviceOrdinal }: TypedCall,
  scratch: DeviceScratch | undefined,
): CallFrame {
  const { name, addresses, metadata } = handler
  const { leaves } = shape
  const descriptor = encodeDescriptor(metadata.minor, addresses, shape, attrs, deviceOrdinal)
  const functions = coreFunctions()
  const { address: from, length } = descriptor
  checkStatus(functions.tn_xla_frame_size(from, length, addressOf(frameSize)), `preparing ${name}`)
  const frameBytes = Number(frameSize[0])
  const { offsets, byteSize } = planScratch(leaves, scratch === undefined ? frameBytes : 0)
  const frame = allocateFrame(scratch === undefined ? byteSize : frameBytes, shape.types)
  const { view, start, address } = frame
  checkStatus(functions.tn_xla_frame_build(from, length, address, frameBytes), `preparing ${name}`)
  const buffers = view.getUint32(start + HEAD.buffers_offset, true)
  const placeOf = (leaf: number): number => start + buffers + leaf * BUFFER_SIZE + BUFFER.data
  const places: number[] = []
  for (const [i, leaf] of leaves.entries()) if (leaf instanceof TensorType) places.push(placeOf(i) / 4)
  frame.places = places.slice()
  freeDescriptor(descriptor)
  const base = scratch === undefined ? address : scratch.allocate(frame, byteSize)
  for (const [leaf, offset] of offsets) writeAddress(view, placeOf(leaf), base + offset)
  return frame
}

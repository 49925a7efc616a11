import { TensorType, type Hold, type TenonError } from '@tenon/core'
import {
  addressOf,
  checkStatus,
  Cleaner,
  CONSTANTS,
  coreFunctions,
  type Gate,
  holdAll,
  LAYOUTS,
  releaseAll,
  writeAddress,
} from '@tenon/core/internal'
import type { CallTarget } from '../call/call-target.ts'
import { allocateCall, planScratch, type CallMemory } from '../native/call-memory.ts'
import type { ByteWriter } from '../native/byte-writer.ts'
import { freeDescriptor } from '../native/descriptor.ts'
import { callRunner, type RunCall } from '../native/current-call.ts'
import { enterCore } from '../native/enter-core.ts'
import { checkAnswer, readFailure } from '../native/read-failure.ts'
import type { Leaf } from '../shape/leaf.ts'
import type { CallResources, DeviceStream } from './call-resources.ts'

const { offsets: HEAD } = LAYOUTS.tn_xla_call_head_t
const { size: BUFFER_SIZE, offsets: BUFFER } = LAYOUTS.tn_xla_buffer_t

/** The remains of a call: its native memory, and what the memory refers to. */
interface Remains {
  readonly memory: CallMemory
  readonly resources: CallResources
  readonly holds: readonly Hold[]
  /** Whether the call may keep a state, whose destructor is code of the library. */
  readonly hasState: boolean
}

/** Closes calls that were dropped without being closed, so that the states of their handlers are destroyed. */
const dropped = new Cleaner<Remains>((remains) => void closeRemains(remains))

function closeRemains({ memory, holds, hasState }: Remains): number {
  const { address } = memory
  const status = hasState ? enterCore('tn_xla_close', address) : coreFunctions().tn_xla_close(address)
  releaseAll(holds)
  return status
}

/** The facts about a handler that the targets of its calls need. */
export interface TypedFacts {
  readonly name: string
  readonly gate: Gate
  readonly hasState: boolean
  /** Whether its work on a stream can be captured once and replayed. */
  readonly isCapturable: boolean
  /** Encodes a call of the handler. */
  encode(): ByteWriter
}

/** The frame of a typed call. */
class TypedTarget implements CallTarget {
  readonly name: string
  readonly kind: number = CONSTANTS.TN_XLA_JOB_TYPED
  readonly gate: Gate
  readonly run: RunCall = callRunner()
  readonly memory: CallMemory
  readonly stream: DeviceStream | undefined
  readonly isCapturable: boolean
  readonly #leaves: readonly Leaf[]
  readonly #encode: () => ByteWriter
  readonly #remains: Remains

  constructor({ name, gate, isCapturable, encode }: TypedFacts, leaves: readonly Leaf[], remains: Remains) {
    this.name = name
    this.gate = gate
    this.memory = remains.memory
    this.stream = remains.resources.stream
    this.isCapturable = isCapturable
    this.#leaves = leaves
    this.#encode = encode
    this.#remains = remains
    dropped.watch(this, remains, this)
  }

  extend(): CallMemory {
    const more = buildFrame(this.name, this.#encode(), this.#leaves)
    checkStatus(coreFunctions().tn_xla_share(more.address, this.memory.address), `sharing the state of ${this.name}`)
    return more
  }

  failure(of: CallMemory, code: number, batchIndex?: number): TenonError {
    return readFailure(of.address, code, this.name, batchIndex)
  }

  close(): void {
    dropped.forget(this)
    checkAnswer(closeRemains(this.#remains), 0, this.name)
  }
}

/**
 * Lays out the frame of a typed call and runs the instantiate handler, if there is one.
 *
 * @throws {XlaError} if that handler fails. @throws {NativeError} if the core refuses the descriptor.
 * @throws {ScopeClosedError} if memory that it uses is closed.
 */
export function openTypedTarget(facts: TypedFacts, leaves: readonly Leaf[], resources: CallResources): CallTarget {
  const { name, hasState } = facts
  const memory = buildFrame(name, facts.encode(), leaves)
  const remains: Remains = { memory, resources, holds: holdAll(resources.gated), hasState }
  try {
    resources.give(memory.address)
    const status = hasState ? enterCore('tn_xla_instantiate', memory.address) : 0
    if (status !== 0) throw readFailure(memory.address, status, name)
  } catch (error) {
    closeRemains(remains)
    throw error
  }
  return new TypedTarget(facts, leaves, remains)
}

/** Where the core writes the size of a frame. */
const frameSize = new BigUint64Array(1)

function buildFrame(name: string, descriptor: ByteWriter, leaves: readonly Leaf[]): CallMemory {
  const functions = coreFunctions()
  const { address: from, length } = descriptor
  checkStatus(functions.tn_xla_frame_size(from, length, addressOf(frameSize)), `preparing ${name}`)
  const frameBytes = Number(frameSize[0])
  const { offsets, byteSize } = planScratch(leaves, frameBytes)
  const memory = allocateCall(byteSize)
  const { view, start, address } = memory
  checkStatus(functions.tn_xla_frame_build(from, length, address, frameBytes), `preparing ${name}`)
  const buffers = view.getUint32(start + HEAD.buffers_offset, true)
  const placeOf = (leaf: number): number => start + buffers + leaf * BUFFER_SIZE + BUFFER.data
  for (const [leaf, offset] of offsets) writeAddress(view, placeOf(leaf), address + offset)
  const places: number[] = []
  for (const [i, leaf] of leaves.entries()) if (leaf instanceof TensorType) places.push(placeOf(i) / 4)
  memory.places = places.slice()
  freeDescriptor(descriptor)
  return memory
}

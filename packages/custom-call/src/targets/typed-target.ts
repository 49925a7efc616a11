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
import { callRunner } from '../native/current-call.ts'
import { enterCore } from '../native/enter-core.ts'
import { checkAnswer, readFailure } from '../native/read-failure.ts'
import type { Leaf } from '../shape/leaf.ts'
import type { CallResources } from './call-resources.ts'

/** The remains of a call: its native memory, and what the memory refers to. */
interface Remains {
  readonly memory: CallMemory
  readonly resources: CallResources
  readonly holds: readonly Hold[]
}

/** Closes calls that were dropped without being closed, so that the states of their handlers are destroyed. */
const dropped = new Cleaner<Remains>((remains) => void closeRemains(remains))

function closeRemains({ memory, holds }: Remains): number {
  const status = enterCore('tn_xla_close', memory.address)
  releaseAll(holds)
  return status
}

/**
 * Lays out the frame of a typed call and runs the instantiate handler, if there is one.
 *
 * @throws {XlaError} if that handler fails. @throws {NativeError} if the core refuses the descriptor.
 * @throws {ScopeClosedError} if memory that it uses is closed.
 */
export function openTypedTarget(
  name: string,
  gate: Gate,
  descriptor: Uint8Array,
  leaves: readonly Leaf[],
  resources: CallResources,
  isCapturable: boolean,
): CallTarget {
  const { tn_xla_share: share } = coreFunctions()
  const memory = buildFrame(name, descriptor, leaves)
  const remains: Remains = { memory, resources, holds: holdAll(resources.gated) }
  try {
    resources.give(memory.address)
    const status = enterCore('tn_xla_instantiate', memory.address)
    if (status !== 0) throw readFailure(memory.address, status, name)
  } catch (error) {
    closeRemains(remains)
    throw error
  }
  const target: CallTarget = {
    name,
    kind: CONSTANTS.TN_XLA_JOB_TYPED,
    gate,
    run: callRunner(),
    memory,
    stream: resources.stream,
    isCapturable,
    extend(): CallMemory {
      const more = buildFrame(name, descriptor, leaves)
      checkStatus(share(more.address, memory.address), `sharing the state of ${name}`)
      return more
    },
    failure: (of: CallMemory, code: number, batchIndex?: number): TenonError =>
      readFailure(of.address, code, name, batchIndex),
    close(): void {
      dropped.forget(target)
      checkAnswer(closeRemains(remains), 0, name)
    },
  }
  dropped.watch(target, remains, target)
  return target
}

function buildFrame(name: string, descriptor: Uint8Array, leaves: readonly Leaf[]): CallMemory {
  const { tn_xla_frame_size: frameSize, tn_xla_frame_build: frameBuild } = coreFunctions()
  const size = new BigUint64Array(1)
  const from = addressOf(descriptor)
  checkStatus(frameSize(from, descriptor.length, addressOf(size)), `preparing ${name}`)
  const frameBytes = Number(size[0])
  const { offsets, byteSize } = planScratch(leaves, frameBytes)
  const memory = allocateCall(byteSize)
  const { view, address } = memory
  checkStatus(frameBuild(from, descriptor.length, address, frameBytes), `preparing ${name}`)
  const buffers = Number(view.getBigUint64(LAYOUTS.tn_xla_call_head_t.offsets.buffers_offset, true))
  const { size: bufferSize, offsets: buffer } = LAYOUTS.tn_xla_buffer_t
  const placeOf = (leaf: number): number => buffers + leaf * bufferSize + buffer.data
  for (const [leaf, offset] of offsets) writeAddress(view, placeOf(leaf), address + offset)
  const places = leaves.flatMap((leaf, index) => (leaf instanceof TensorType ? [placeOf(index) / 4] : []))
  return { ...memory, places }
}

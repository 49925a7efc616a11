import { addressOf, checkStatus, pointerBits, type Gate } from '@tenon/core/internal'
import { TensorType, type TenonError } from '@tenon/core'
import type { CallTarget } from '../call/call-target.ts'
import { allocateCall, planScratch, type CallMemory } from '../native/call-memory.ts'
import { coreFunctions } from '../native/core-functions.ts'
import { readFailure } from '../native/read-failure.ts'
import type { Leaf } from '../shape/leaf.ts'

/** From one buffer of a frame to the next, and from a buffer's start to its pointer, in bytes. */
const BUFFER_SIZE = 48
const BUFFER_DATA = 24

/** Closes calls that were dropped without being closed: their handlers' states would never be destroyed otherwise. */
const dropped = new FinalizationRegistry<CallMemory>((memory) => coreFunctions().close(memory.address))

/**
 * Lays out the frame of a typed call and runs the instantiate handler, if there is one.
 *
 * @throws {XlaError} if that handler fails. @throws {NativeError} if the core refuses the descriptor.
 */
export function openTypedTarget(name: string, gate: Gate, descriptor: Uint8Array, leaves: readonly Leaf[]): CallTarget {
  const { execute, close, share, instantiate } = coreFunctions()
  const memory = buildFrame(name, descriptor, leaves)
  const status = Number(instantiate(memory.address))
  if (status !== 0) {
    const error = readFailure(memory.address, status, name)
    close(memory.address)
    throw error
  }
  const target: CallTarget = {
    name,
    isTyped: true,
    gate,
    execute,
    memory,
    extend(): CallMemory {
      const more = buildFrame(name, descriptor, leaves)
      checkStatus(Number(share(more.address, memory.address)), `sharing the state of ${name}`)
      return more
    },
    failure: (of: CallMemory, code: number): TenonError => readFailure(of.address, code, name),
    close(): void {
      dropped.unregister(target)
      const code = Number(close(memory.address))
      if (code !== 0) throw readFailure(memory.address, code, name)
    },
  }
  dropped.register(target, memory, target)
  return target
}

function buildFrame(name: string, descriptor: Uint8Array, leaves: readonly Leaf[]): CallMemory {
  const { frameSize, frameBuild } = coreFunctions()
  const size = new BigUint64Array(1)
  const from = addressOf(descriptor)
  checkStatus(Number(frameSize(from, descriptor.length, addressOf(size))), `preparing ${name}`)
  const frameBytes = Number(size[0])
  const { offsets, byteSize } = planScratch(leaves, frameBytes)
  const { view, address } = allocateCall(byteSize)
  checkStatus(Number(frameBuild(from, descriptor.length, address, frameBytes)), `preparing ${name}`)
  const buffers = Number(view.getBigUint64(8, true))
  const placeOf = (leaf: number): number => buffers + BUFFER_DATA + leaf * BUFFER_SIZE
  for (const [leaf, offset] of offsets) view.setFloat64(placeOf(leaf), pointerBits(address + offset), true)
  const places = leaves.flatMap((leaf, index) => (leaf instanceof TensorType ? [placeOf(index)] : []))
  return { view, address, places, running: false }
}

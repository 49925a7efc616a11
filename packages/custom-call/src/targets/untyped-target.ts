import { TensorType, type KernelConvention, type TenonError } from '@tenon/core'
import { CONSTANTS, LAYOUTS, type Gate, writeAddress } from '@tenon/core/internal'
import { CallTarget, type Remains } from '../call/call-target.ts'
import { deviceScratch, type DeviceScratch } from '../call/device-scratch.ts'
import { allocateFrame, planScratch, type CallFrame } from '../native/call-frame.ts'
import { readFailure } from '../native/read-failure.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { leavesOf, type Tree } from '../shape/leaf.ts'
import { ApiVersion } from './api-version.ts'
import type { DeviceStream } from './call-resources.ts'

export interface UntypedCall {
  readonly functionAddress: number
  readonly apiVersion: number
  readonly onDevice: boolean
  readonly tuples: 'nested' | 'flattened'
  readonly opaque: Uint8Array
  readonly stream: number
  /** The address of a `tn_xla_device_t` to enter before the call; 0 for none. */
  readonly device: number
}

const { size: RECORD_SIZE, offsets: RECORD } = LAYOUTS.tn_xla_untyped_call_t

/** A pointer to the buffer of a leaf, or to the array that starts with another cell. */
type Cell = { readonly leaf: number } | { readonly array: number }

/** The target of an untyped call. A failure is read, and its memory freed, right after the run that ended with it. */
export class UntypedTarget extends CallTarget {
  readonly #shape: CallShape
  readonly #call: UntypedCall

  /** @param stream the stream that the call holds open, if it is an object. @throws {ArgumentError} if it cannot allocate scratch. */
  constructor(name: string, gate: Gate, shape: CallShape, call: UntypedCall, stream?: DeviceStream) {
    const scratch = deviceScratch(shape, stream)
    const frame = layOutUntyped(shape, call, scratch)
    super(name, CONSTANTS.TN_XLA_JOB_UNTYPED, gate, frame, stream, remainsOf(stream, scratch))
    this.#shape = shape
    this.#call = call
  }

  override get convention(): KernelConvention {
    const { apiVersion } = this.#call
    if (apiVersion === ApiVersion.ORIGINAL) return 'host'
    return apiVersion === ApiVersion.STATUS_RETURNING ? 'host-status' : 'host-unified'
  }

  extend(): CallFrame {
    return layOutUntyped(this.#shape, this.#call, this.scratch)
  }

  failure({ address }: CallFrame, status: number, batchIndex?: number): TenonError {
    const convention = this.#call.onDevice ? 'device' : 'untyped'
    return readFailure(convention, address, status, this.name, batchIndex)
  }
}

/** Holds the stream open. A stream that allocates scratch has a gate. */
function remainsOf(stream: DeviceStream | undefined, scratch: DeviceScratch | undefined): Remains | undefined {
  const hold = stream?.gate?.owner.acquire()
  if (hold === undefined) return undefined
  return {
    scratch,
    free: () => {
      scratch?.freeAll()
      hold.release()
      return 0
    },
  }
}

/**
 * Lays out the record of a call, its pointers, its opaque string with a NUL at the end, and its scratch in one block.
 *
 * A tuple is an array of pointers to its members. An empty tuple has a cell as well, so that its address is valid.
 */
function layOutUntyped(shape: CallShape, call: UntypedCall, scratch: DeviceScratch | undefined): CallFrame {
  const cells: Cell[] = []
  const layTuple = (members: readonly Tree[]): number => {
    const first = cells.length
    for (let i = 0; i < Math.max(members.length, 1); i++) cells.push({ array: first })
    members.forEach((member, i) => {
      cells[first + i] = typeof member === 'number' ? { leaf: member } : { array: layTuple(member) }
    })
    return first
  }
  const { buffers, out } = arraysOf(shape, call)
  const buffersCell = layTuple(buffers)
  const outCell = layTuple([out])

  const cellAt = (index: number): number => RECORD_SIZE + 8 * index
  const opaqueAt = cellAt(cells.length)
  const used = opaqueAt + call.opaque.length + 1
  const { offsets, byteSize } = planScratch(shape.leaves, scratch === undefined ? used : 0)
  const frame = allocateFrame(scratch === undefined ? byteSize : used, shape.types)
  const { view, start, address } = frame
  const pointer = (at: number, to: number): void => writeAddress(view, start + at, to)

  const placeOfLeaf: number[] = []
  cells.forEach((cell, index) => {
    if ('array' in cell) pointer(cellAt(index), address + cellAt(cell.array))
    else placeOfLeaf[cell.leaf] = cellAt(index)
  })
  const base = scratch === undefined ? address : scratch.allocate(frame, byteSize)
  for (const [leaf, offset] of offsets) pointer(placeOfLeaf[leaf]!, base + offset)

  pointer(RECORD.function, call.functionAddress)
  view.setInt32(start + RECORD.api_version, call.apiVersion, true)
  view.setInt32(start + RECORD.on_device, Number(call.onDevice), true)
  pointer(RECORD.buffers, address + cellAt(buffersCell))
  pointer(RECORD.out, address + cellAt(outCell))
  pointer(RECORD.opaque, address + opaqueAt)
  view.setUint32(start + RECORD.opaque_length, call.opaque.length, true)
  pointer(RECORD.stream, call.stream)
  pointer(RECORD.device, call.device)
  new Uint8Array(view.buffer, view.byteOffset + start + opaqueAt).set(call.opaque)
  frame.places = placeOfLeaf.flatMap((place, leaf) =>
    shape.leaves[leaf] instanceof TensorType ? [(start + place) / 4] : [],
  )
  return frame
}

/** Returns the two arguments that hold buffers. A single result is passed as it is, several as a tuple. */
function arraysOf(
  { operands, results }: CallShape,
  { onDevice, tuples }: UntypedCall,
): { readonly buffers: readonly Tree[]; readonly out: Tree } {
  if (onDevice) return { buffers: leavesOf([...operands, ...results]), out: [] }
  const out = results.length === 1 ? results[0]! : results
  if (tuples === 'nested') return { buffers: operands, out }
  return { buffers: leavesOf(operands), out: typeof out === 'number' ? out : leavesOf(out) }
}

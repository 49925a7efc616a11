import type { Tensor } from '../types/tensor.ts'
import { cpu, type Device } from '../types/device.ts'
import { HeldGate } from './foreign-block.ts'
import type { FoundMore, FoundNumbers } from './found.ts'

/** A tensor that was made over memory, and what was found then. */
interface Known {
  readonly tensor: Tensor
  readonly dtype: unknown
  readonly offset: unknown
  readonly isWhole: boolean
  /** Whether the shape was found, and not that of the array. */
  readonly hasShape: boolean
  /** The strides that were found, which the type can lack. */
  readonly strides: readonly number[] | undefined
  readonly owner: unknown
}

/**
 * The last tensor over each TypedArray or buffer. Calls get the same objects again, and making a tensor takes longer than finding it.
 */
const known = new WeakMap<object, Known>()

/** Returns the tensor that was made for the same layout in the same memory, if it is still there. */
export function knownTensor({
  memory,
  more,
  dtype,
  offset,
  isWhole,
  shape,
  strides,
}: FoundNumbers): Tensor | undefined {
  if (typeof memory !== 'object' || memory === null) return undefined
  const last = known.get(memory)
  if (last === undefined || last.dtype !== dtype || last.offset !== offset || last.isWhole !== isWhole) return undefined
  const { tensor } = last
  if (more === undefined ? last.owner !== undefined : !isSameOwner(more, last)) return undefined
  if (!(last.hasShape ? isList(shape, tensor.type.shape) : shape === undefined)) return undefined
  if (!(last.strides === undefined ? strides === undefined : isList(strides, last.strides))) return undefined
  // Memory without bytes may be detached.
  return tensor.gate.open && tensor.block.bytes.length > 0 ? tensor : undefined
}

/** Keeps a tensor for later calls with the same memory. @param strides those that were found */
export function keepTensor(
  { memory, more, dtype, offset, isWhole, shape }: FoundNumbers,
  strides: readonly number[] | undefined,
  tensor: Tensor,
): void {
  if (more !== undefined && !isPlain(more)) return
  // The description of an address is not the memory.
  if (!ArrayBuffer.isView(memory) && tensor.block.view.buffer !== memory) return
  known.set(memory as object, {
    tensor,
    dtype,
    offset,
    isWhole,
    hasShape: shape !== undefined,
    strides,
    owner: more?.owner,
  })
}

/** Whether memory has nothing that decides on the tensor, besides its owner. */
const isPlain = ({ validity, packing, readOnly, device }: FoundMore): boolean =>
  validity === undefined &&
  (packing === undefined || packing === 'element') &&
  readOnly !== true &&
  (device === undefined || (device as Partial<Device> | null)?.type === cpu.type)

/** An owner holds all of its memory in the same way. */
const isSameOwner = (more: FoundMore, { owner, tensor }: Known): boolean =>
  more.owner === owner && (more.hold !== undefined) === tensor.gate instanceof HeldGate && isPlain(more)

/** Whether a value is an array of these numbers. Each of its elements is read once. */
function isList(value: unknown, numbers: readonly number[]): boolean {
  if (!Array.isArray(value) || value.length !== numbers.length) return false
  for (let i = 0; i < numbers.length; i++) if (value[i] !== numbers[i]) return false
  return true
}

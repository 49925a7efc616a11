import { AllocationError, gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { encodeStruct, hostAbi, StringTensor } from '../src/index.ts'
import { memory } from './helpers.ts'

/** An allocator that counts what it is asked for and gives nothing. */
export class Allocations implements NativeAllocator {
  count = 0

  allocate(byteSize: number): Segment {
    this.count++
    throw new AllocationError(`${byteSize} bytes were asked for`)
  }
}

/**
 * A tensor whose elements all name the same bytes: larger than memory, for the limits of layouts. With `pretend` the
 * bytes are not even there, which is safe as long as only their sizes are looked at.
 */
export function aliased(
  count: number,
  byteSize: number,
  pretend = false,
): { tensor: StringTensor; allocations: Allocations } {
  const bytes = gcAllocator.allocate(pretend ? 1 : byteSize)
  const view = { type: 'view', size: BigInt(byteSize), pointer: bytes.address, owner: 0n } as const
  const struct = encodeStruct(view, { layout: 'tf', abi: hostAbi })
  const table = memory(Buffer.concat(Array.from({ length: count }, () => struct)))
  const tensor = StringTensor.ofSegment(table, { layout: 'tf', shape: [count], validate: 'trusted' })
  // The bytes live as long as the tensor.
  kept.set(tensor, bytes)
  return { tensor, allocations: new Allocations() }
}

const kept = new WeakMap<StringTensor, Segment>()

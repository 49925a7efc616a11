import { AllocationError, gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { encodeStruct, hostAbi, StringTensor } from '../src/index.ts'
import { memory } from './helpers.ts'

/** An allocator that counts its calls and refuses each of them. */
export class Allocations implements NativeAllocator {
  count = 0

  allocate(byteSize: number): Segment {
    this.count++
    throw new AllocationError(`${byteSize} bytes were requested`)
  }
}

/**
 * A tensor whose elements all name the same bytes. It can be larger than memory, for tests of the limits of layouts. With
 * `pretend` the bytes do not exist, which is safe while only their sizes are read.
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
  // Keeps the bytes alive as long as the tensor.
  kept.set(tensor, bytes)
  return { tensor, allocations: new Allocations() }
}

const kept = new WeakMap<StringTensor, Segment>()

import { gcAllocator, type StringTensorLike } from '@tenon/core'
import { addStringClass, type StringMemory } from '@tenon/core/internal'
import { segmentsOf } from '../image/image.ts'
import { hostAbi } from '../layouts/abi.ts'
import { startOf } from '../memory/regions.ts'
import { partsOfSegment } from './of-segment.ts'
import type { Parts } from './parts.ts'
import { readShape } from './shape.ts'

/** Announces the class of string tensors to the calls of kernels. @param partsOf returns undefined for a value that is not a tensor. */
export function announce(
  partsOf: (value: unknown) => Parts | undefined,
  make: (parts: Parts) => StringTensorLike,
): void {
  addStringClass({
    memoryOf: (value) => {
      const parts = partsOf(value)
      return parts === undefined ? undefined : memoryOf(parts)
    },
    make: (result, isShared) => make(partsOfResult(result, isShared)),
  })
}

/** The memory of a tensor, for calls of kernels. @throws {ScopeClosedError} if its blocks of malloc are freed. */
function memoryOf({ image, shape, segment }: Parts): StringMemory {
  segmentsOf(image)
  const { layout, abi, data, regions, foreign } = image
  // The strings of a slice lie behind the table of the tensor from which it was cut.
  const isWhole = startOf(data) === startOf(segment) && data.byteSize >= segment.byteSize
  return {
    layout,
    shape,
    segment: isWhole ? data : segment,
    isOfHost: abi === hostAbi,
    regions: regions?.segments ?? [],
    isForeign: foreign,
  }
}

/** The parts of a result of a kernel. @param isShared whether another process can change the memory. */
function partsOfResult({ layout, shape, segment }: StringTensorLike, isShared: boolean): Parts {
  if (isShared) return partsOfSegment(segment, { layout, shape, validate: 'lenient', writable: !segment.readOnly })
  const { shape: sizes, count } = readShape(shape)
  const image = { layout, abi: hostAbi, count, table: segment, data: segment, regions: undefined, foreign: false }
  return { image, shape: sizes, segment, storage: 'packed', allocator: gcAllocator, isWritable: true }
}

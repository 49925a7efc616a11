import { ArgumentError, type Segment, Tensor, tensor } from '@tenon/core'
import { checkSize, checkUsable, describe, sharedChunkOf, wrongType, type Packing } from '@tenon/core/internal'
import type { Chunk } from './chunk.ts'

/** The place of a tensor in shared memory, as a plain object that can be posted and written as JSON. */
export interface TensorLocation {
  /** The number of its chunk. */
  readonly chunk: number
  /** From the start of the chunk. */
  readonly byteOffset: number
  readonly dtype: string
  readonly shape: readonly number[]
  /** In elements; only of a tensor that is not row-major. */
  readonly strides?: readonly number[]
  /** Only of a tensor whose elements of less than a byte are packed. */
  readonly packing?: Packing
}

/** @throws {ArgumentError} if the tensor is not in one of the chunks. */
export function locateTensor(x: Tensor, chunks: ReadonlyMap<number, Chunk>): TensorLocation {
  if (!(x instanceof Tensor)) throw wrongType('x', 'a tensor', x)
  const chunk = sharedChunkOf(x) as Chunk | undefined
  if (chunk === undefined || chunks.get(chunk.id) !== chunk) {
    throw new ArgumentError(`the tensor must lie in this memory, got ${x.type} in other memory`, {
      hint: 'Allocate it with { allocator: memory }, or copy it into such a tensor with set().',
    })
  }
  checkUsable(x.block)
  const { dtype, shape, strides, packing } = x.type
  return {
    chunk: chunk.id,
    byteOffset: x.address - chunk.address,
    dtype,
    shape: [...shape],
    ...(strides === undefined ? {} : { strides: [...strides] }),
    ...(packing === 'packed' ? { packing } : {}),
  }
}

/** Makes the tensor at a location, which may be wrong. @throws {ArgumentError | ArgumentRangeError | BoundsError} */
export function tensorAt(location: TensorLocation, segmentOf: (chunk: number) => Segment | undefined): Tensor {
  if (typeof location !== 'object' || location === null) throw wrongType('location', 'a tensor location', location)
  const { chunk: number, byteOffset, dtype, shape, strides, packing } = location
  const chunk = checkSize(number, 'chunk', 'the chunk')
  const offset = checkSize(byteOffset, 'byteOffset')
  if (!Array.isArray(shape)) throw wrongType('shape', 'an array of sizes', shape)
  if (typeof dtype !== 'string') throw wrongType('dtype', 'the name of an element type', dtype)
  const segment = segmentOf(chunk)
  if (segment === undefined) {
    throw new ArgumentError(`chunk must be one of the imported memory, got ${describe(chunk)}`, {
      hint: 'Import the memory again, because its owner has added the chunk later, or keep the tensor alive in the owner.',
    })
  }
  return tensor(dtype, shape as readonly number[], segment.asSlice(offset), {
    ...(strides === undefined ? {} : { strides }),
    ...(packing === undefined ? {} : { packing }),
  })
}

import { AlignmentError, tensor, type DType, type NativeAllocator, type Segment, type Tensor } from '@tenon/core'
import { checkUsable } from '@tenon/core/internal'
import { copyOf } from './file-bytes.ts'

/** A tensor in a file. */
export interface WeightsEntry {
  readonly name: string
  /** The element type as the format names it: `BF16`, `Q4_K`, `<f4`. */
  readonly type: string
  /** The size along each axis, in elements, row-major. */
  readonly shape: readonly number[]
  /** The element type of the tensor: `uint8` for a type that is stored in blocks. */
  readonly dtype: DType
  /**
   * The elements and the bytes of a block, if the type is stored in blocks that Tenon does not decode, such as 32 numbers of 4 bits with a
   * common scale. The elements are adjacent along the last axis.
   */
  readonly block?: { readonly elements: number; readonly byteSize: number }
  /** The place of the first byte in the file. */
  readonly byteOffset: number
  readonly byteSize: number
}

/** The elements and the bytes of a block. */
export type BlockLayout = NonNullable<WeightsEntry['block']>

/** An entry whose elements are packed within bytes. */
export type StoredEntry = WeightsEntry & { readonly packing?: 'packed' }

/** The shape of the tensor: blocks become bytes, with an axis of blocks and one of the bytes of a block at the end. */
function tensorShape({ shape, block, byteSize }: StoredEntry): readonly number[] {
  if (block === undefined) return shape
  const last = shape.at(-1) ?? 1
  // Types of a few bits can have rows that end within a block.
  if (last % block.elements !== 0) return [byteSize / block.byteSize, block.byteSize]
  return [...shape.slice(0, -1), last / block.elements, block.byteSize]
}

/**
 * Makes the tensor of an entry over a file, or a copy in memory of an allocator.
 *
 * @throws {AlignmentError} if the elements are not aligned, and no allocator copies them. @throws {ScopeClosedError}
 */
export function entryTensor(entry: StoredEntry, segment: Segment, allocator: NativeAllocator | undefined): Tensor {
  const { name, dtype, byteOffset, byteSize, packing = 'element' } = entry
  checkUsable(segment.block)
  const shape = tensorShape(entry)
  const part = segment.asSlice(byteOffset, byteSize)
  if (allocator !== undefined) {
    const copy = tensor(dtype, shape, undefined, { packing, allocator })
    copyOf(part, 0, copy.block.bytes.subarray(copy.base, copy.base + byteSize))
    return copy
  }
  try {
    return tensor(dtype, shape, part, { packing })
  } catch (error) {
    if (!(error instanceof AlignmentError)) throw error
    throw new AlignmentError(
      `the tensor ${JSON.stringify(name)} is at byte ${byteOffset} of its file: ${error.sentence}`,
      {
        hint: 'Copy it: file.tensor(name, { allocator: gcAllocator }).',
        details: { ...error.details, name, byteOffset },
        cause: error,
      },
    )
  }
}

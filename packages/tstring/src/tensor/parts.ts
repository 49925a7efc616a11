import type { NativeAllocator, Segment } from '@tenon/core'
import type { Image } from '../image/image.ts'
import type { Layout } from '../layouts/layout.ts'
import { Arena } from '../memory/arena.ts'
import type { MallocBlocks } from '../memory/malloc-blocks.ts'
import type { Regions } from '../memory/regions.ts'

/**
 * The place for the bytes of strings that do not fit into their struct.
 *
 * - `arena`: chunks of the allocator, which live as long as its memory. TF_TString names them by VIEW, the RFC by PREALLOC.
 * - `malloc`: a block of C's malloc for each string, as LARGE: for tensors that TensorFlow will own or change.
 * - `packed`: behind the table in the same block, as OFFSET. Such a tensor can be moved, mapped and sent unchanged. The
 *   layouts `legacy` and `tflite` are always packed.
 */
export type Storage = 'arena' | 'malloc' | 'packed'

export interface Parts {
  readonly image: Image & { readonly layout: Layout }
  readonly shape: readonly number[]
  /** The memory that native code receives: the table, or the whole tensor if it is packed. */
  readonly segment: Segment
  readonly storage: Storage
  /** Allocates memory for more strings. */
  readonly allocator: NativeAllocator
  /** Made with the first string that needs it. */
  readonly arena?: Arena | undefined
  readonly blocks?: MallocBlocks | undefined
  readonly isWritable: boolean
  /** Set for a slice of another tensor. The slice has a part of that tensor's segment, and owns nothing. */
  readonly isWindow?: boolean
  /** Set for bytes from outside, into which Tenon writes no pointers. */
  readonly isOutside?: boolean
  /** Set for bytes from outside that were not checked strictly. They may have gaps and pointers. */
  readonly isLoose?: boolean
  /** Frees memory that the tensor alone owns. */
  readonly close?: () => void
}

/** Returns the parts of a tensor of this machine whose long strings lie in `regions`. */
export function arenaParts(
  image: Image & { readonly layout: Layout; readonly regions: Regions },
  shape: readonly number[],
  allocator: NativeAllocator,
): Parts {
  const arena = new Arena(allocator, image.regions)
  return { image, shape, segment: image.table, storage: 'arena', allocator, arena, isWritable: true }
}

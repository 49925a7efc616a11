import type { NativeAllocator, Segment } from '@tenon/core'
import type { Image } from '../image/image.ts'
import type { Layout } from '../layouts/layout.ts'
import type { Arena } from '../memory/arena.ts'
import type { MallocBlocks } from '../memory/malloc-blocks.ts'

/**
 * Where the bytes of strings are that don't fit their struct.
 *
 * - `arena`: in chunks of the allocator, which go with its lifetime. TF_TString names them by VIEW, the RFC by PREALLOC.
 * - `malloc`: each in a block of C's malloc, as LARGE: for tensors that TensorFlow will own or change.
 * - `packed`: behind the table in the same block, as OFFSET: such a tensor can be moved, mapped and sent as it is. The
 *   layouts `legacy` and `tflite` are always so.
 */
export type Storage = 'arena' | 'malloc' | 'packed'

/** What a string tensor is made of. */
export interface Parts {
  readonly image: Image & { readonly layout: Layout }
  readonly shape: readonly number[]
  /** What is handed to native code: the table, or the whole tensor if it is packed. */
  readonly segment: Segment
  readonly storage: Storage
  /** Where more strings go. */
  readonly allocator: NativeAllocator
  readonly arena: Arena | undefined
  readonly blocks: MallocBlocks | undefined
  readonly isWritable: boolean
  /** Set for a slice of another tensor: its segment is not all of it, and what it is made of belongs to that tensor. */
  readonly isWindow?: boolean
  /** Set for bytes from outside: no pointer of ours is put there. */
  readonly isOutside?: boolean
  /** Set for bytes from outside that were not checked strictly: they may have gaps, and pointers. */
  readonly isLoose?: boolean
  /** Ends what the tensor alone owns. */
  readonly close?: () => void
}

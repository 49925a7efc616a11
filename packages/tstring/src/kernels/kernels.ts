import type { Segment } from '@tenon/core'
import type { Image, Sums } from '../image/image.ts'
import type { Abi } from '../layouts/abi.ts'
import type { ImageLayout } from '../layouts/layout.ts'

/** How strings that don't fit a struct are written, with the C core's numbers. */
export const FORM = {
  /** OFFSET into the bytes behind the table. */
  OFFSET: 0,
  /** VIEW or PREALLOC into the target's data. */
  POINTER: 1,
  /** LARGE, each in a block of malloc. */
  BLOCK: 2,
  /** VIEW or PREALLOC onto the source's bytes, which are not copied. */
  BORROWED: 3,
} as const

export type Form = (typeof FORM)[keyof typeof FORM]

/** What a conversion shall make. */
export interface Plan {
  readonly layout: ImageLayout
  readonly abi: Abi
  readonly form: Form
  /** Whether strings that fit are SMALL; else all are as `form` says. */
  readonly isInline: boolean
}

/** Bytes that a conversion needs. */
export interface Sizes {
  readonly tableSize: number
  readonly dataSize: number
}

/** Where a conversion writes. OFFSET, legacy and TFLite need `data` right behind `table`. */
export interface Target extends Plan {
  readonly table: Segment
  readonly data: Segment
}

/**
 * What is done to a whole tensor in one call. There are two: one in C, and one in JavaScript for where the C core can't
 * be loaded. They give the same results and the same errors.
 */
export interface Kernels {
  /**
   * Checks a tensor that came from outside; pointers are refused.
   *
   * @throws {MalformedTensorError}
   */
  validate(image: Image, options: { strict: boolean; writable: boolean; budget: number }): Sums
  /** @throws {TensorLimitError} if the plan's layout can't hold the strings. @throws {MalformedTensorError} */
  measure(image: Image, selection: Uint32Array | undefined, count: number, plan: Plan): Sizes
  /**
   * @returns the bytes of the target's data that were used.
   * @throws {MalformedTensorError} also if the strings need more (`changed`): nothing is written past the target.
   */
  convert(image: Image, selection: Uint32Array | undefined, count: number, target: Target): number
  /** Byte order of each element against the one at the same place, or against the only one of `other`. */
  compare(image: Image, other: Image): Int8Array
  /** The first element from `from` on with exactly these bytes, or the count. */
  find(image: Image, bytes: Uint8Array, from: number): number
  /** XXH32 of each element. */
  hash(image: Image, seed: number): Uint32Array
  /** The first element from `from` on that is not valid UTF-8, or the count. */
  findInvalidUtf8(image: Image, from: number): number
}

import type { Segment } from '@tenon/core'
import { CONSTANTS } from '@tenon/core/internal'
import type { Abi } from '../layouts/abi.ts'
import type { ImageLayout } from '../layouts/layout.ts'

/** The forms of strings that do not fit into their struct, with the C core's numbers. */
export const FORM = {
  /** OFFSET into the bytes behind the table. */
  OFFSET: CONSTANTS.TN_TSTRING_AS_OFFSET as 0,
  /** VIEW or PREALLOC into the target's data. */
  POINTER: CONSTANTS.TN_TSTRING_AS_POINTER as 1,
  /** LARGE, each in a block of malloc. */
  BLOCK: CONSTANTS.TN_TSTRING_AS_BLOCK as 2,
  /** VIEW or PREALLOC onto the source's bytes, which are not copied. */
  BORROWED: CONSTANTS.TN_TSTRING_AS_BORROWED as 3,
} as const

export type Form = (typeof FORM)[keyof typeof FORM]

export interface Plan {
  readonly layout: ImageLayout
  readonly abi: Abi
  readonly form: Form
  /** Whether strings that fit are SMALL. Otherwise `form` applies to all strings. */
  readonly isInline: boolean
}

export interface Sizes {
  readonly tableSize: number
  readonly dataSize: number
}

/** The memory that a conversion writes. OFFSET, legacy and TFLite need `data` right behind `table`. */
export interface Target extends Plan {
  readonly table: Segment
  readonly data: Segment
}

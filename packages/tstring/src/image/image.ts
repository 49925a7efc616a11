import type { Segment } from '@tenon/core'
import { hostAbi, type Abi } from '../layouts/abi.ts'
import type { ImageLayout } from '../layouts/layout.ts'
import type { Regions } from '../memory/regions.ts'

/** The bytes of a tensor and what is known of them: all that readers and kernels need. */
export interface Image {
  readonly layout: ImageLayout
  readonly abi: Abi
  readonly count: number
  /** Structs, offsets, or TFLite's header. */
  readonly table: Segment
  /** What offsets count from: the whole tensor, or Arrow's data. Not the table's memory if that was copied. */
  readonly data: Segment
  /** What pointers in structs may name; undefined if none are followed. */
  readonly regions: Regions | undefined
  /** Whether pointers may also name memory of C: blocks of malloc, tensors of a library in this process. */
  readonly foreign: boolean
  /** What is known of the sizes; not kept up when strings are set. */
  readonly sums?: Sums | undefined
}

/** The sizes of all strings, in bytes. */
export interface Sums {
  readonly total: number
  /** Those of the strings that are larger than a shipped SMALL. */
  readonly notSmall: number
}

/** All segments that reading an image may touch. */
export function segmentsOf({ table, data, regions }: Image): Segment[] {
  return [table, ...(data === table ? [] : [data]), ...(regions?.segments ?? [])]
}

/** Whether pointers in the structs are followed at all. */
export function follows({ abi, regions, foreign }: Image): boolean {
  return abi === hostAbi && (foreign || regions !== undefined)
}

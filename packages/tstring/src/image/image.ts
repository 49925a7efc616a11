import { ScopeClosedError, type Segment } from '@tenon/core'
import { hostAbi, type Abi } from '../layouts/abi.ts'
import type { ImageLayout } from '../layouts/layout.ts'
import type { Regions } from '../memory/regions.ts'

/** The bytes of a tensor and their layout: everything that readers and kernels need. */
export interface Image {
  readonly layout: ImageLayout
  readonly abi: Abi
  readonly count: number
  /** Structs, offsets, or TFLite's header. */
  readonly table: Segment
  /** The memory from which offsets count: the whole tensor, or Arrow's data. A copied `table` lies in other memory. */
  readonly data: Segment
  /** The memory that pointers in structs may name. Undefined if pointers are not followed. */
  readonly regions: Regions | undefined
  /** Whether pointers may also name memory of C: blocks of malloc, or tensors of a library in this process. */
  readonly foreign: boolean
  /** The owner of the blocks of malloc that the structs name. The strings cannot be read after it is closed. */
  readonly owner?: Owner | undefined
  /** The sums of the sizes, if they are known. Setting strings does not update them. */
  readonly sums?: Sums | undefined
}

export interface Owner {
  readonly isClosed: boolean
}

/** The sizes of all strings, in bytes. */
export interface Sums {
  readonly total: number
  /** The sizes of the strings that are larger than a shipped SMALL. */
  readonly notSmall: number
}

/** Returns the memory of an image. @throws {ScopeClosedError} if the tensor that owns its blocks of malloc is closed. */
export function segmentsOf({ table, data, regions, owner }: Image): Segment[] {
  if (owner?.isClosed) throw closedError()
  return [table, ...(data === table ? [] : [data]), ...(regions?.segments ?? [])]
}

export function closedError(hint: string = 'Read and set its strings before you close it.'): ScopeClosedError {
  return new ScopeClosedError('the string tensor is closed already', { hint })
}

/** Whether pointers in the structs are followed. */
export function follows({ abi, regions, foreign }: Image): boolean {
  return abi === hostAbi && (foreign || regions !== undefined)
}

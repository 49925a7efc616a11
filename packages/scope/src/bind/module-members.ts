import { layoutOf } from './layout-of.ts'
import {
  readBits,
  readPointer,
  readText,
  readUnaligned,
  writeBits,
  writePointer,
  writeText,
  writeUnaligned,
} from './members.ts'

/** The functions that the accessors of a generated struct call. */
export interface ModuleMembers {
  readonly layoutOf: typeof layoutOf
  readonly readBits: typeof readBits
  readonly readPointer: typeof readPointer
  readonly readText: typeof readText
  readonly readUnaligned: typeof readUnaligned
  readonly writeBits: typeof writeBits
  readonly writePointer: typeof writePointer
  readonly writeText: typeof writeText
  readonly writeUnaligned: typeof writeUnaligned
}

/** Reads and writes members of structs that no accessor of a segment covers: bit-fields, pointers, `char` arrays and packed members. */
export const members: ModuleMembers = {
  layoutOf,
  readBits,
  readPointer,
  readText,
  readUnaligned,
  writeBits,
  writePointer,
  writeText,
  writeUnaligned,
}

import { assign } from './function-members.ts'
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
import { textMember } from './text.ts'

/** The functions that the accessors of a generated struct call. */
export interface ModuleMembers {
  readonly assign: typeof assign
  readonly layoutOf: typeof layoutOf
  readonly readBits: typeof readBits
  readonly readPointer: typeof readPointer
  readonly readText: typeof readText
  readonly readUnaligned: typeof readUnaligned
  readonly textMember: typeof textMember
  readonly writeBits: typeof writeBits
  readonly writePointer: typeof writePointer
  readonly writeText: typeof writeText
  readonly writeUnaligned: typeof writeUnaligned
}

/** Reads and writes members of structs that no accessor of a segment covers: bit-fields, pointers, `char` arrays and packed members. */
export const members: ModuleMembers = {
  assign,
  layoutOf,
  readBits,
  readPointer,
  readText,
  readUnaligned,
  textMember,
  writeBits,
  writePointer,
  writeText,
  writeUnaligned,
}

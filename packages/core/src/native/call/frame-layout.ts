import { CONSTANTS, LAYOUTS } from '../../generated/layouts.ts'

const { size, offsets } = LAYOUTS.tn_call_frame_t
const copy = LAYOUTS.tn_call_copy_t

/** The size of a frame in bytes. */
export const FRAME_SIZE: number = size

/** Flags of a call. */
export const FLAGS: Readonly<Record<'VECTORS' | 'ERRNO' | 'COPIES' | 'IN_PLACE' | 'LEAF' | 'CHECKED', number>> = {
  VECTORS: CONSTANTS.TN_CALL_VECTORS,
  ERRNO: CONSTANTS.TN_CALL_ERRNO,
  COPIES: CONSTANTS.TN_CALL_COPIES,
  IN_PLACE: CONSTANTS.TN_CALL_IN_PLACE,
  LEAF: CONSTANTS.TN_CALL_LEAF,
  CHECKED: CONSTANTS.TN_CALL_CHECKED,
}

type PartName =
  | 'target'
  | 'flags'
  | 'stackSize'
  | 'extra'
  | 'errno'
  | 'state'
  | 'generalResults'
  | 'vectorResults'
  | 'general'
  | 'vector'
  | 'stack'
  | 'copyCount'
  | 'copySize'
  | 'copies'

/** The parts of a frame, as indexes of words of 32 bits. A register has two words. */
export const WORDS: Readonly<Record<PartName, number>> = {
  target: offsets.target / 4,
  flags: offsets.flags / 4,
  stackSize: offsets.stack_size / 4,
  /** SysV: the number of vector registers. AAPCS64: x8. */
  extra: offsets.extra / 4,
  errno: offsets.error_number / 4,
  /** A call: its status. An upcall: the id of the function. */
  state: offsets.state / 4,
  generalResults: offsets.results / 4,
  vectorResults: offsets.vector_results / 4,
  general: offsets.integers / 4,
  vector: offsets.vectors / 4,
  stack: offsets.stack / 4,
  copyCount: offsets.copy_count / 4,
  copySize: offsets.copy_size / 4,
  copies: offsets.copies / 4,
}

/** The most strings that native code writes for a call. */
export const MOST_TEXTS: number = CONSTANTS.TN_CALL_MOST_TEXTS

/** The words of the frame that describe the texts of a call: the places of up to {@link MOST_TEXTS} addresses, and what follows. */
export const TEXT_PLAN: Readonly<Record<'places' | 'count' | 'returnsText', number>> = {
  places: WORDS.vectorResults,
  count: WORDS.vectorResults + MOST_TEXTS,
  returnsText: WORDS.vectorResults + MOST_TEXTS + 1,
}

/** The largest stack area in bytes. */
export const STACK_LIMIT: number = CONSTANTS.TN_CALL_STACK_SIZE

/** An entry of the table of copies: its size, and its members as indexes of words. */
export const COPY_ENTRY: Readonly<Record<'size' | 'word' | 'source' | 'byteSize' | 'place', number>> = {
  size: copy.size,
  word: copy.offsets.word / 4,
  source: copy.offsets.source / 4,
  byteSize: copy.offsets.size / 4,
  place: copy.offsets.place / 4,
}

/** The room in bytes for the table of copies and the bytes of the copies. */
export const COPIES_LIMIT: number = FRAME_SIZE - offsets.copies

/** The largest alignment of memory on the stack in bytes. */
export const STACK_ALIGNMENT = 16

export const alignUp = (byteSize: number, alignment: number): number => Math.ceil(byteSize / alignment) * alignment

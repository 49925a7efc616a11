import { isFloat, type ValueType } from '../value-type.ts'
import type { ParameterPlan, Piece, PlanType, ResultPlan, StructShape } from './call-plan.ts'
import { WORDS } from './frame-layout.ts'

/** The words of registers: each has two. */
export const generalWord = (index: number): number => WORDS.general + 2 * index
export const vectorWord = (index: number): number => WORDS.vector + 2 * index

/** The pieces of a struct in consecutive registers of 8 bytes. */
export function registerPieces(byteSize: number, firstWord: number): Piece[] {
  return Array.from({ length: Math.ceil(byteSize / 8) }, (_, i) => ({
    word: firstWord + 2 * i,
    offset: 8 * i,
    byteSize: Math.min(8, byteSize - 8 * i),
  }))
}

/** The pieces of an aggregate whose floats have a register each. */
export function floatPieces({ count, size }: { count: number; size: number }, firstWord: number): Piece[] {
  return Array.from({ length: count }, (_, i) => ({ word: firstWord + 2 * i, offset: size * i, byteSize: size }))
}

export function scalarAt(kind: ValueType, word: number, second = -1): ParameterPlan {
  return { kind, word, byteOffset: word * 4, byteSize: 8, second, pieces: [], copy: null }
}

/** A scalar of `byteSize` bytes at an offset of the stack area. */
export function scalarOnStack(kind: ValueType, offset: number, byteSize: number): ParameterPlan {
  const byteOffset = WORDS.stack * 4 + offset
  return { kind, word: Math.floor(byteOffset / 4), byteOffset, byteSize, second: -1, pieces: [], copy: null }
}

export function structIn(byteSize: number, pieces: readonly Piece[]): ParameterPlan {
  const word = pieces[0]?.word ?? -1
  return { kind: 'struct', word, byteOffset: word * 4, byteSize, second: -1, pieces, copy: null }
}

export function structOnStack(byteSize: number, offset: number): ParameterPlan {
  return structIn(byteSize, [{ word: WORDS.stack + offset / 4, offset: 0, byteSize }])
}

/** A struct whose address is passed. {@link planCall} assigns the place of its copy. */
export function indirectAt({ byteSize }: StructShape, word: number): ParameterPlan {
  return { ...scalarAt('pointer', word), kind: 'indirect', byteSize }
}

export function scalarResult(kind: Exclude<PlanType, StructShape> | 'void'): ResultPlan {
  if (kind === 'void') return { kind, word: -1, byteSize: 0, pieces: [] }
  return { kind, word: isFloat(kind) ? WORDS.vectorResults : WORDS.generalResults, byteSize: 8, pieces: [] }
}

export function structResult(byteSize: number, pieces: readonly Piece[]): ResultPlan {
  return { kind: 'struct', word: -1, byteSize, pieces }
}

export function memoryResult(byteSize: number, word: number): ResultPlan {
  return { kind: 'memory', word, byteSize, pieces: [] }
}

/** How a place of the code is changed. */
export type Operator =
  | 'condition forced'
  | 'relation changed'
  | 'arithmetic changed'
  | 'constant changed'
  | 'negation removed'
  | 'statement removed'
  | 'jump removed'

/** One change of one place. */
export interface Mutant {
  /** The path relative to the package: `csrc/base/memory.c`. */
  readonly file: string
  /** The function that contains the place. */
  readonly function: string
  /** From 1. */
  readonly line: number
  readonly operator: Operator
  /** The code of the place, with single spaces. */
  readonly from: string
  /** The code that replaces it, empty if a statement is removed. */
  readonly to: string
  /** The number among the mutants of the function with the same `from` and `to`, from 1. */
  readonly occurrence: number
  readonly start: number
  readonly end: number
}

/** The name of a mutant, which stays when lines above it change. */
export function mutantKey(mutant: Pick<Mutant, 'file' | 'function' | 'from' | 'to' | 'occurrence'>): string {
  const { file, from, to, occurrence } = mutant
  return `${file} ${mutant.function}: ${from} -> ${to || 'nothing'}${occurrence > 1 ? ` (${occurrence})` : ''}`
}

/** The topic of a file: `base` for `csrc/base/posix/event.c`. */
export function topicOf(file: string): string {
  return file.split('/')[1]!
}

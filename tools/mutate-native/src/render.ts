import { groupBy } from './group-by.ts'
import type { Mutant } from './mutant.ts'

/** A mutant with the number by which processes choose it, from 1. */
export interface NumberedMutant extends Mutant {
  readonly number: number
}

/** Where the code of a mutant, and the choice that it is a part of, are in the text. */
export interface Arm {
  readonly mutant: NumberedMutant
  readonly start: number
  readonly end: number
  readonly choiceStart: number
  readonly choiceEnd: number
}

/** A source that contains all of its mutants. */
export interface Rendered {
  readonly text: string
  readonly arms: readonly Arm[]
}

/** Mutants of the same code. */
interface Choice {
  readonly start: number
  readonly end: number
  readonly mutants: readonly NumberedMutant[]
}

/**
 * Writes a source with all of its mutants, of which a process chooses one by `tn__mutated()`. Lines keep their numbers.
 *
 * @param file for messages of the compiler and `__FILE__`.
 */
export function render(file: string, source: string, mutants: readonly NumberedMutant[]): Rendered {
  const choices = group(mutants)
  const arms: Arm[] = []
  let text = `#include "mutant.h"\n#line 1 "${file}"\n`
  let next = 0

  const writeTo = (end: number, start: number): void => {
    let at = start
    while (next < choices.length && choices[next]!.start < end) {
      const choice = choices[next++]!
      text += source.slice(at, choice.start)
      writeChoice(choice)
      at = choice.end
    }
    text += source.slice(at, end)
  }

  const writeChoice = ({ start, end, mutants: own }: Choice): void => {
    const choiceStart = text.length
    const pending: Omit<Arm, 'choiceEnd'>[] = []
    if (own.some(isRemoval)) {
      text += `{ if (!tn__mutated(${own[0]!.number})) `
      pending.push({ mutant: own[0]!, start: choiceStart, end: text.length, choiceStart })
      writeTo(end, start)
      text += ' }'
    } else {
      text += '('
      for (const mutant of own) {
        const armStart = text.length
        text += `tn__mutated(${mutant.number}) ? (${mutant.to}) : `
        pending.push({ mutant, start: armStart, end: text.length, choiceStart })
      }
      text += own.some(({ operator }) => operator === 'condition forced') ? '!!(' : '('
      writeTo(end, start)
      text += '))'
    }
    for (const arm of pending) arms.push({ ...arm, choiceEnd: text.length })
  }

  writeTo(source.length, 0)
  return { text, arms }
}

function isRemoval({ operator }: Mutant): boolean {
  return operator === 'statement removed' || operator === 'jump removed'
}

/** Outer code comes before inner code that begins at the same place. */
function group(mutants: readonly NumberedMutant[]): Choice[] {
  return [...groupBy(mutants, ({ start, end }) => `${start}-${end}`).values()]
    .map((own) => ({ start: own[0]!.start, end: own[0]!.end, mutants: own }))
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
}

import type { Offered, Operations } from './contestant.ts'

/** The result of a line in the process of one contestant. */
export interface Check {
  readonly isRight: boolean
  /** The value or the figure that was found, for the page. */
  readonly seen: string
}

/** One line of the page: the same work and the same checks for every contestant, in a process of its own for each. */
export interface Line {
  /** The area and the subject: `crash/null-write`. */
  readonly name: string
  /** A sentence that says what is done. */
  readonly work: string
  /** The required outcome: give the right result, or throw an error and go on. */
  readonly expected: 'result' | 'error'
  /** Words of the error that is expected. Any error with a message is enough by default. */
  readonly reason?: RegExp
  /** The operations that the line needs. A contestant without one of them is not tried. */
  readonly needs: readonly (keyof Operations)[]
  /** The milliseconds after which the process counts as hanging; 60,000 by default. */
  readonly limit?: number
  /**
   * Does the work. With `expected: 'error'` the work must throw, so `isRight` of what it returns instead is not read.
   *
   * @throws what the contestant throws.
   */
  run(operations: Operations): Promise<Check>
}

/** Returns whether a contestant offers all that a line needs. */
export function isOffered(line: Line, offered: Offered): offered is Operations {
  return line.needs.every((name) => offered[name] !== undefined)
}

/** Compares a value with the right one. */
export function checkValue(value: unknown, right: unknown): Check {
  const [seen, wanted] = [JSON.stringify(value) ?? String(value), JSON.stringify(right)]
  return { isRight: seen === wanted, seen: seen === wanted ? seen : `${seen} instead of ${wanted}` }
}

/** The value that a call returned although it should have failed. */
export function returned(value: unknown): Check {
  return { isRight: false, seen: `returned ${String(value).slice(0, 60)}` }
}

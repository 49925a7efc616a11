import { Tensor } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'

/**
 * The options of XLA's `CustomCall` that tell a compiler how to treat a call in a program. A single call is not compiled, so they are
 * checked and have no effect.
 */
export interface ProgramOptions {
  /** Whether the call must stay in a program, although nothing uses its results. XLA's `has_side_effect`. */
  readonly hasSideEffect?: boolean
  /** A constant that belongs to the call. XLA's `literal`. */
  readonly literal?: Tensor
  /** Whether a program runs the call as late or as early as its operands and results permit. XLA's `schedule`. */
  readonly schedule?: 'none' | 'latest' | 'earliest'
}

export const PROGRAM_OPTIONS = ['hasSideEffect', 'literal', 'schedule'] as const

const schedules: ReadonlySet<unknown> = new Set(['none', 'latest', 'earliest'])

/** @throws {ArgumentError} if an option has another type. */
export function checkProgramOptions(name: string, { hasSideEffect, literal, schedule }: ProgramOptions): void {
  if (hasSideEffect !== undefined && typeof hasSideEffect !== 'boolean')
    throw wrongType(`hasSideEffect of ${name}`, 'true or false', hasSideEffect)
  if (literal !== undefined && !(literal instanceof Tensor)) throw wrongType(`literal of ${name}`, 'a tensor', literal)
  if (schedule !== undefined && !schedules.has(schedule))
    throw wrongType(`schedule of ${name}`, "'none', 'latest' or 'earliest'", schedule)
}

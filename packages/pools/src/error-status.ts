import { TenonError, type TenonErrorOptions } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/**
 * NNAPI's error statuses with their numbers (HAL `ErrorStatus`; `DEAD_OBJECT` is the runtime's own and never on the wire).
 */
export const errorStatus = {
  NONE: 0,
  DEVICE_UNAVAILABLE: 1,
  GENERAL_FAILURE: 2,
  OUTPUT_INSUFFICIENT_SIZE: 3,
  INVALID_ARGUMENT: 4,
  MISSED_DEADLINE_TRANSIENT: 5,
  MISSED_DEADLINE_PERSISTENT: 6,
  RESOURCE_EXHAUSTED_TRANSIENT: 7,
  RESOURCE_EXHAUSTED_PERSISTENT: 8,
  DEAD_OBJECT: 10_000,
} as const

/** The name of an error status. */
export type ErrorStatus = keyof typeof errorStatus

const names = new Map<number, ErrorStatus>(
  Object.entries(errorStatus).map(([name, number]) => [number, name as ErrorStatus]),
)

/** The name of a status that came as a number; undefined if there is no such status. */
export function statusOf(number: number): ErrorStatus | undefined {
  return names.get(number)
}

/** The shape of an output after an execution, as far as it is known. */
export interface OutputShape {
  readonly dimensions: readonly number[]
  /** False if the memory given for it was too small. */
  readonly isSufficient: boolean
}

export interface PoolsErrorOptions extends TenonErrorOptions {
  /** The rule that was broken, by its number in the README: `Q8`. */
  readonly rule?: string
  /** Where: `outputs[0].location.length`. */
  readonly path?: string
  /** With `OUTPUT_INSUFFICIENT_SIZE`: one for each output. */
  readonly outputShapes?: readonly OutputShape[]
}

/**
 * A pool, model, request or driver failed with one of NNAPI's statuses.
 *
 * @example
 * try {
 *   await prepared.execute({ inputs: [], outputs: [] })
 * } catch (error) {
 *   if (error instanceof PoolsError) console.error(error.status, error.rule, error.path) // INVALID_ARGUMENT Q1 inputs
 * }
 */
export class PoolsError extends TenonError {
  static override readonly kind: string = 'PoolsError'
  readonly status: ErrorStatus
  readonly rule: string | undefined
  readonly path: string | undefined
  readonly outputShapes: readonly OutputShape[]

  constructor(status: ErrorStatus, sentence: string, options: PoolsErrorOptions = {}) {
    const { rule, path, outputShapes = [], details, ...rest } = options
    super('TENON_POOLS', sentence, { ...rest, details: { status, rule, path, ...details } })
    this.status = status
    this.rule = rule
    this.path = path
    this.outputShapes = outputShapes
  }
}
defineKind(PoolsError)

/** What a check found wrong with an argument: `INVALID_ARGUMENT`, with the rule and the place. */
export function invalid(rule: string, path: string, sentence: string): PoolsError {
  return new PoolsError('INVALID_ARGUMENT', `${path} ${sentence} (rule ${rule})`, { rule, path })
}

/** Runs checks that throw, and returns what they threw: undefined if all is well. */
export function violationOf(check: () => void): PoolsError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof PoolsError) return error
    throw error
  }
}

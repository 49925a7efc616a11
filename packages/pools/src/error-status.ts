import { TenonError } from '@tenon/core'
import { defineKind, type TenonErrorOptions } from '@tenon/core/internal'

/** NNAPI's error statuses with their numbers (HAL `ErrorStatus`). The runtime adds `DEAD_OBJECT`, which no driver sends. */
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

const names = new Map(Object.entries(errorStatus).map(([name, number]) => [number as number, name as ErrorStatus]))

export function statusOf(number: number): ErrorStatus | undefined {
  return names.get(number)
}

/** The shape of an output after an execution, as far as it is known. */
export interface OutputShape {
  readonly dimensions: readonly number[]
  /** Whether the memory of the output is large enough. */
  readonly isSufficient: boolean
}

/** The parts of a {@link PoolsError}. */
export interface PoolsErrorOptions extends TenonErrorOptions {
  /** The rule that was broken, by its number in the README: `Q8`. The message names it. */
  readonly rule?: string | undefined
  /** The place of the fault: `outputs[0].location.length`. */
  readonly path?: string | undefined
  /** The shape of each output, with the status `OUTPUT_INSUFFICIENT_SIZE`. */
  readonly outputShapes?: readonly OutputShape[]
}

/**
 * A failure of a pool, model, request or driver, with one of NNAPI's statuses.
 *
 * @example
 * try {
 *   await prepared.runAsync({ inputs: [], outputs: [] })
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
    // A message from a driver names the rule already.
    const suffix = rule === undefined || sentence.endsWith(`(rule ${rule})`) ? '' : ` (rule ${rule})`
    super('TENON_POOLS', sentence + suffix, { ...rest, details: { status, rule, path, ...details } })
    this.status = status
    this.rule = rule
    this.path = path
    this.outputShapes = outputShapes
  }
}
defineKind(PoolsError)

/** An `INVALID_ARGUMENT`. The requirement begins with "must", or states what is wrong with the path. */
export function invalid(rule: string, path: string, requirement: string, ...received: [unknown?]): PoolsError {
  const text = received.length === 0 ? undefined : textOf(received[0])
  return refused(rule, `${path} ${requirement}${text === undefined ? '' : `, got ${text}`}`, path, {
    expected: requirement.replace(/^must /, ''),
    received: text,
  })
}

const textOf = (value: unknown): string => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value))

export function refused(rule: string, sentence: string, path?: string, details?: Record<string, unknown>): PoolsError {
  return new PoolsError('INVALID_ARGUMENT', sentence, { rule, path, ...(details === undefined ? {} : { details }) })
}

export function failed(rule: string, sentence: string, path?: string): PoolsError {
  return new PoolsError('GENERAL_FAILURE', sentence, { rule, path })
}

export function violationOf(check: () => void): PoolsError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof PoolsError) return error
    throw error
  }
}

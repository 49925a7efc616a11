import { checkOptions, wrongType } from '@tenon/core/internal'
import type { SequenceId } from '../protocol/sequence-place.ts'
import { LONGEST_TIMER } from '../service/call-later.ts'

/** How a model answers sequences of requests, with words of Triton's `ModelSequenceBatching`. */
export interface SequenceOptions<State> {
  /**
   * Makes the state of a sequence, which its first request needs. The state ends with the sequence: with `[Symbol.dispose]()`, if it has that.
   */
  readonly state: (sequence: { readonly id: SequenceId }) => State
  /** The sequences at the same time. The first requests of further ones wait. Default: 1024. */
  readonly maxCandidateSequences?: number
  /** How long a sequence may be without a request. Then it ends. Default: 1,000,000, which is a second. */
  readonly maxSequenceIdleMicroseconds?: number
}

/** The options of a model's sequences with their defaults. */
export type SequenceLimits = Required<SequenceOptions<unknown>>

const OPTIONS = ['maxCandidateSequences', 'maxSequenceIdleMicroseconds', 'state'] as const

/** @throws {ArgumentError} if an option is not valid. */
export function readSequenceOptions(options: SequenceOptions<unknown>): SequenceLimits {
  const given = checkOptions<SequenceOptions<unknown>>(options, OPTIONS, 'sequence')
  const { state, maxCandidateSequences = 1024, maxSequenceIdleMicroseconds = 1_000_000 } = given
  if (typeof state !== 'function') throw wrongType('sequence.state', 'a function', state)
  return {
    state,
    maxCandidateSequences: checkCount(maxCandidateSequences, 'maxCandidateSequences', Number.MAX_SAFE_INTEGER),
    maxSequenceIdleMicroseconds: checkCount(
      maxSequenceIdleMicroseconds,
      'maxSequenceIdleMicroseconds',
      1000 * LONGEST_TIMER,
    ),
  }
}

function checkCount(value: unknown, name: string, most: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most) return value as number
  throw wrongType(`sequence.${name}`, `a whole number from 1 to ${most}`, value)
}

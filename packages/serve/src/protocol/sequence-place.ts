import { InvalidRequestError } from '../errors.ts'
import { describeValue, wrong } from './wrong-field.ts'

/** The number or the name of a sequence, which clients choose. Numbers beyond 2^53 are bigints. */
export type SequenceId = number | bigint | string

/** The place of a request in its sequence, as Triton's sequence extension has it (`docs/protocol/extension_sequence.md`). */
export interface SequencePlace {
  readonly id: SequenceId
  /** Whether it is the first request of the sequence. */
  readonly isStart: boolean
  /** Whether it is the last one. */
  readonly isEnd: boolean
}

/** The most characters of a name, as in Triton. */
const LONGEST_ID = 128

/**
 * Reads the parameters of a sequence.
 *
 * @returns undefined for a request without a sequence, whose number is 0 and whose name is empty. @throws {InvalidRequestError}
 */
export function readSequencePlace(
  id: unknown = 0,
  start: unknown = false,
  end: unknown = false,
): SequencePlace | undefined {
  if (!isSequenceId(id)) {
    throw wrong(
      'parameters.sequence_id',
      `a whole number of 64 bits, or a text of at most ${LONGEST_ID} characters`,
      id,
    )
  }
  if (typeof start !== 'boolean') throw wrong('parameters.sequence_start', 'true or false', start)
  if (typeof end !== 'boolean') throw wrong('parameters.sequence_end', 'true or false', end)
  if (id !== 0 && id !== '') return { id, isStart: start, isEnd: end }
  if (!start && !end) return undefined
  throw new InvalidRequestError(
    `sequence_start and sequence_end must be with a sequence_id other than 0 and "", got ${describeValue(id)}`,
  )
}

function isSequenceId(value: unknown): value is SequenceId {
  if (typeof value === 'bigint') return value >= 0 && BigInt.asUintN(64, value) === value
  if (typeof value === 'string') return value.length <= LONGEST_ID
  return Number.isSafeInteger(value) && (value as number) >= 0
}

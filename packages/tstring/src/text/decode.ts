import { constants, isUtf8 } from 'node:buffer'
import { checkOptions } from '@tenon/core/internal'
import { checkOneOf } from '../errors/arguments.ts'
import { InvalidTextError, TensorLimitError } from '../errors/tstring-errors.ts'
import type { Reader } from '../image/reader.ts'
import type { FastBuffer } from './fast-buffer.ts'

/**
 * The policy for bytes that are not valid UTF-8 and therefore have no JavaScript string.
 *
 * - `replace`: U+FFFD replaces invalid bytes, as in the WHATWG decoder.
 * - `throw`: reading throws an `InvalidTextError`.
 * - `latin1`: the whole string is decoded as Latin-1, one character for each byte, so no byte is lost.
 *
 * NUL and a leading BOM are ordinary characters.
 */
export type InvalidText = 'replace' | 'throw' | 'latin1'

const policies: readonly InvalidText[] = ['replace', 'throw', 'latin1']

/** Options of reading and writing strings. */
export interface TextOptions {
  /** The policy for text that cannot be converted; by default `replace`. */
  readonly invalid?: InvalidText
}

export const policyOf = (invalid?: InvalidText): InvalidText =>
  invalid === undefined ? 'replace' : checkOneOf(invalid, policies, 'invalid')

export const policyIn = (options: TextOptions | undefined): InvalidText =>
  options === undefined ? 'replace' : policyOf(checkOptions(options, ['invalid']).invalid)

export function decodeLocated(reader: Reader, index: number, policy: InvalidText): string {
  const { start, size } = reader
  const bytes = reader.block.bytes as FastBuffer
  try {
    if (policy === 'replace' || isUtf8(bytes.subarray(start, start + size))) return bytes.utf8Slice(start, start + size)
    if (policy === 'latin1') return bytes.latin1Slice(start, start + size)
  } catch (cause) {
    throw tooLongError(index, size, cause)
  }
  throw new InvalidTextError(`element ${index} must be valid UTF-8`, {
    hint: "Read the element with bytes(), or choose invalid: 'replace' or 'latin1'.",
    details: { index, byteSize: size },
  })
}

/** The error of a string that JavaScript cannot have. Decoding throws no other errors. */
function tooLongError(index: number, byteSize: number, cause: unknown): TensorLimitError {
  const limit = constants.MAX_STRING_LENGTH
  return new TensorLimitError(
    `element ${index} must have at most ${limit} characters to be a JavaScript string, got ${byteSize} bytes`,
    { hint: 'Read the element with bytes().', details: { index, value: byteSize, limit }, cause },
  )
}

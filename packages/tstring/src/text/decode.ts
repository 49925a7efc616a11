import { isUtf8 } from 'node:buffer'
import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { InvalidTextError } from '../errors/tstring-errors.ts'
import type { Reader } from '../image/reader.ts'
import type { FastBuffer } from './fast-buffer.ts'

/**
 * What becomes of bytes that are no valid UTF-8, and so have no JavaScript string.
 *
 * - `replace`: U+FFFD stands for what is not valid, as the WHATWG decoder has it.
 * - `throw`: an `InvalidTextError`.
 * - `latin1`: such a string is decoded whole as Latin-1, a character a byte, so that no byte is lost.
 *
 * A leading BOM is a character like others; NUL too.
 */
export type InvalidText = 'replace' | 'throw' | 'latin1'

/** @throws {ArgumentError} if it is none of the policies. */
export function checkPolicy(policy: InvalidText): InvalidText {
  if (policy === 'replace' || policy === 'throw' || policy === 'latin1') return policy
  throw new ArgumentError(`invalid must be 'replace', 'throw' or 'latin1', got ${describe(policy)}`)
}

/** The string that a reader has located. */
export function decodeLocated(reader: Reader, index: number, policy: InvalidText): string {
  const { start, size } = reader
  const bytes = reader.block.bytes as FastBuffer
  if (policy === 'replace' || isUtf8(bytes.subarray(start, start + size))) return bytes.utf8Slice(start, start + size)
  if (policy === 'latin1') return bytes.latin1Slice(start, start + size)
  throw new InvalidTextError(`element ${index} is not valid UTF-8`, {
    hint: "read its bytes(), or choose invalid: 'replace' or 'latin1'.",
    details: { index, byteSize: size },
  })
}

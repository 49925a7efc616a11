import { ArgumentError, BoundsError, type Segment } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import { type Charset, type Codec, codecOf } from './charset.ts'
import { checkOptions } from '../scope/check-options.ts'
import { describeSegment } from './locate.ts'
import { rangeForRead, rangeForWrite } from './usable.ts'

/** How a string is written. */
export interface StringOptions {
  /** `utf-8` without it. */
  readonly charset?: Charset
  /**
   * What to do with a U+0000 inside the string, at which C stops reading: refuse it (`error`, without this), or write
   * it
   * (`allow`).
   */
  readonly nul?: 'error' | 'allow'
}

const DEFAULTS: StringOptions = {}

/**
 * Checks a string that gets a terminator. @throws {ArgumentError} if it is none, or has a U+0000 that isn't allowed.
 */
export function checkText(text: unknown, options: StringOptions): asserts text is string {
  checkOptions(options)
  if (typeof text !== 'string') throw new ArgumentError(`the text must be a string, got ${describe(text)}`)
  const { nul = 'error' } = options
  if (nul !== 'allow' && nul !== 'error') throw new ArgumentError(`nul must be error or allow, got ${describe(nul)}`)
  if (nul === 'error' && text.includes('\0')) {
    throw new ArgumentError(`a C string must have no U+0000 inside, got one at ${text.indexOf('\0')}`, {
      hint: "C would stop reading there. Pass { nul: 'allow' } if it is meant.",
    })
  }
}

/** Writes a string and its terminator. Makes sure first that all of it fits, so that a failure writes nothing. */
export function setString(segment: Segment, byteOffset: number, text: string, options: StringOptions = DEFAULTS): void {
  checkText(text, options)
  const codec = codecOf(options.charset)
  const { bytes } = segment.block
  // Where the longest form fits there is no need to measure.
  const longest = text.length * LONGEST + codec.unit
  const isRoomy = typeof byteOffset === 'number' && byteOffset >= 0 && byteOffset + longest <= segment.byteSize
  const start = rangeForWrite(segment, byteOffset, isRoomy ? longest : codec.byteLength(text) + codec.unit)
  const end = start + codec.write(bytes, start, text)
  for (let i = 0; i < codec.unit; i++) bytes[end + i] = 0
}

/** Bytes that one character of a JavaScript string takes at most, in any charset. */
const LONGEST = 4

/** Reads a string up to its terminator, or of exactly `byteLength` bytes. */
export function getString(
  segment: Segment,
  byteOffset: number,
  charset: Charset = 'utf-8',
  byteLength?: number,
): string {
  const codec = codecOf(charset)
  if (byteLength !== undefined) {
    const size = checkSize(byteLength, 'byteLength')
    const at = rangeForRead(segment, byteOffset, size)
    return codec.read(segment.block.bytes, at, at + size)
  }
  const start = rangeForRead(segment, byteOffset, 0)
  return codec.read(segment.block.bytes, start, findEnd(segment, codec, start))
}

/** Where the terminator is, inside the segment. @throws {BoundsError} if there is none. */
function findEnd(segment: Segment, { unit }: Codec, start: number): number {
  const { bytes } = segment.block
  const end = segment.base + segment.byteSize
  let at = bytes.indexOf(0, start)
  if (unit === 1 && at !== -1 && at < end) return at
  while (at !== -1 && at < end) {
    // A terminator is a whole unit of zeros, at a whole number of units from the start.
    const unitStart = at - ((at - start) % unit)
    if (unitStart + unit > end) break
    if (bytes.subarray(unitStart, unitStart + unit).every((byte) => byte === 0)) return unitStart
    at = bytes.indexOf(0, unitStart + unit)
  }
  throw new BoundsError(
    `a string must end with a terminator inside the segment ${describeSegment(segment)}, there is none`,
    {
      hint: 'pass the length in bytes, or give a pointer its size with reinterpret().',
      details: { available: segment.byteSize },
    },
  )
}

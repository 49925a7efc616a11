import { constants } from 'node:buffer'
import { ArgumentError, ArgumentRangeError, BoundsError, type Segment } from '@tenon/core'
import { checkOptions, checkSize, wrongType } from '@tenon/core/internal'
import { checkWord } from '../check.ts'
import { type Charset, type Codec, codecOf } from './charset.ts'
import { describeSegment, rangeForRead, rangeForWrite } from './locate.ts'
import { offsetInWindow, windowOf } from './window.ts'

/** Options for writing a string. */
export interface StringOptions {
  /** The encoding. Default: `utf-8`. */
  readonly charset?: Charset
  /** Whether U+0000 inside the string, at which C would stop reading, is an error (the default) or is written. */
  readonly nul?: 'error' | 'allow'
}

const OPTIONS = ['charset', 'nul'] as const
const NO_OPTIONS: StringOptions = {}

/**
 * Checks a string that gets a terminator. Returns the charset, which is read from the options only once.
 *
 * @throws {ArgumentError} if it is not a string, or has a forbidden U+0000.
 */
export function checkText(text: unknown, options: StringOptions | undefined): Charset | undefined {
  const { charset, nul } = options === undefined ? NO_OPTIONS : checkOptions(options, OPTIONS)
  if (typeof text !== 'string') throw wrongType('text', 'a string', text)
  if (nul !== undefined) checkWord(nul, ['error', 'allow'], 'nul')
  if (nul !== 'allow' && text.includes('\0')) {
    throw new ArgumentError(`a C string must not contain U+0000, got one at index ${text.indexOf('\0')}`, {
      hint: "Pass { nul: 'allow' } to write it, although C stops reading there.",
    })
  }
  return charset
}

/** Writes a string and its terminator. Checks first that all of it fits, so that a failure writes nothing. */
export function setString(segment: Segment, byteOffset: number, text: string, options?: StringOptions): void {
  const codec = codecOf(checkText(text, options))
  const { block, byteSize } = segment
  // If the longest possible form fits, the text need not be measured.
  const longest = text.length * LONGEST + codec.unit
  const isRoomy = typeof byteOffset === 'number' && byteOffset >= 0 && byteOffset + longest <= byteSize
  const size = isRoomy ? longest : codec.byteLength(text) + codec.unit
  const start = rangeForWrite(segment, block, byteOffset, size)
  const bytes = windowOf(block, start, size)
  const at = offsetInWindow(block, start)
  const end = at + codec.write(bytes, at, text)
  for (let i = 0; i < codec.unit; i++) bytes[end + i] = 0
}

/** The most bytes that one unit of a JavaScript string takes, in any charset. */
const LONGEST = 4

/** Reads a string up to its terminator, or of exactly `byteLength` bytes. */
export function getString(
  segment: Segment,
  byteOffset: number,
  charset: Charset = 'utf-8',
  byteLength?: number,
): string {
  const codec = codecOf(charset)
  const { block } = segment
  if (byteLength !== undefined) {
    const size = checkSize(byteLength, 'byteLength')
    const start = rangeForRead(segment, block, byteOffset, size)
    return decode(codec, windowOf(block, start, size), offsetInWindow(block, start), size)
  }
  const { base, byteSize } = segment
  const start = rangeForRead(segment, block, byteOffset, 0)
  const room = Math.min(base + byteSize - start, MOST_BYTES)
  const bytes = windowOf(block, start, room)
  const at = offsetInWindow(block, start)
  const size = sizeUpToTerminator(bytes, at, room, codec)
  if (size !== -1) return decode(codec, bytes, at, size)
  if (room === MOST_BYTES) throw tooLong(room)
  throw new BoundsError(`the string must end with a terminator inside the segment ${describeSegment(segment)}`, {
    hint: 'Pass the length in bytes, or set the size of a pointer with reinterpret().',
    details: { available: byteSize },
  })
}

/** The most bytes that a string can have in any charset, with its terminator. */
const MOST_BYTES = (constants.MAX_STRING_LENGTH + 1) * 4

/** The number of bytes before a terminator, which is a unit of zeros at a multiple of the unit's size. -1: there is none. */
function sizeUpToTerminator(bytes: Buffer, start: number, room: number, { unit }: Codec): number {
  // The bytes behind the range belong to others, and can be many.
  const searched = bytes.length - start - room > NEARBY ? bytes.subarray(0, start + room) : bytes
  for (let at = searched.indexOf(0, start); at !== -1 && at < start + room;) {
    const size = at - start - ((at - start) % unit)
    if (size + unit > room) return -1
    if (isZero(bytes, start + size, unit)) return size
    at = searched.indexOf(0, start + size + unit)
  }
  return -1
}

/** The most bytes behind a range that are searched in vain, as in the chunks of arenas. Making a view costs 40 ns. */
const NEARBY = 1024 * 1024

function isZero(bytes: Buffer, start: number, unit: number): boolean {
  for (let i = 0; i < unit; i++) if (bytes[start + i] !== 0) return false
  return true
}

/** @throws {ArgumentRangeError} if the string is longer than JavaScript allows. */
function decode(codec: Codec, bytes: Buffer, start: number, byteSize: number): string {
  // In UTF-8, a unit of a JavaScript string takes at most three bytes.
  if (byteSize > constants.MAX_STRING_LENGTH * Math.max(codec.unit, 3)) throw tooLong(byteSize)
  try {
    return codec.read(bytes, start, start + byteSize)
  } catch (cause) {
    throw tooLong(byteSize, cause)
  }
}

function tooLong(byteSize: number, cause?: unknown): ArgumentRangeError {
  const most = constants.MAX_STRING_LENGTH
  return new ArgumentRangeError(`a string must have at most ${most} characters, got at least ${byteSize} bytes`, {
    hint: 'Read parts of it with a length in bytes, or read bytes with asSlice() and view().',
    details: { expected: most, received: byteSize },
    cause,
  })
}

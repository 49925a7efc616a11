import { ArgumentError, BoundsError, type Segment } from '@tenon/core'
import { checkOptions, checkSize, wrongType } from '@tenon/core/internal'
import { checkWord } from '../check.ts'
import { type Charset, type Codec, codecOf } from './charset.ts'
import { describeSegment, rangeForRead, rangeForWrite } from './locate.ts'

/** Options for writing a string. */
export interface StringOptions {
  /** The encoding. Default: `utf-8`. */
  readonly charset?: Charset
  /** Whether U+0000 inside the string, at which C would stop reading, is an error (the default) or is written. */
  readonly nul?: 'error' | 'allow'
}

const OPTIONS = ['charset', 'nul'] as const

/** Checks a string that gets a terminator. @throws {ArgumentError} if it is not a string, or has a forbidden U+0000. */
export function checkText(text: unknown, options: StringOptions | undefined): asserts text is string {
  const nul = options === undefined ? undefined : checkOptions(options, OPTIONS).nul
  if (typeof text !== 'string') throw wrongType('text', 'a string', text)
  if (nul !== undefined) checkWord(nul, ['error', 'allow'], 'nul')
  if (nul !== 'allow' && text.includes('\0')) {
    throw new ArgumentError(`a C string must not contain U+0000, got one at index ${text.indexOf('\0')}`, {
      hint: "Pass { nul: 'allow' } to write it, although C stops reading there.",
    })
  }
}

/** Writes a string and its terminator. Checks first that all of it fits, so that a failure writes nothing. */
export function setString(segment: Segment, byteOffset: number, text: string, options?: StringOptions): void {
  checkText(text, options)
  const codec = codecOf(options?.charset)
  const { bytes } = segment.block
  // If the longest possible form fits, the text need not be measured.
  const longest = text.length * LONGEST + codec.unit
  const isRoomy = typeof byteOffset === 'number' && byteOffset >= 0 && byteOffset + longest <= segment.byteSize
  const start = rangeForWrite(segment, byteOffset, isRoomy ? longest : codec.byteLength(text) + codec.unit)
  const end = start + codec.write(bytes, start, text)
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
  if (byteLength !== undefined) {
    const size = checkSize(byteLength, 'byteLength')
    const at = rangeForRead(segment, byteOffset, size)
    return codec.read(segment.block.bytes, at, at + size)
  }
  const start = rangeForRead(segment, byteOffset, 0)
  return codec.read(segment.block.bytes, start, findEnd(segment, codec, start))
}

/** The offset of the terminator in the block. @throws {BoundsError} if the segment does not contain one. */
function findEnd(segment: Segment, { unit }: Codec, start: number): number {
  const { bytes } = segment.block
  const end = segment.base + segment.byteSize
  let at = bytes.indexOf(0, start)
  if (unit === 1 && at !== -1 && at < end) return at
  while (at !== -1 && at < end) {
    // A terminator is a unit of zeros at a multiple of the unit's size from the start.
    const unitStart = at - ((at - start) % unit)
    if (unitStart + unit > end) break
    if (bytes.subarray(unitStart, unitStart + unit).every((byte) => byte === 0)) return unitStart
    at = bytes.indexOf(0, unitStart + unit)
  }
  throw new BoundsError(`the string must end with a terminator inside the segment ${describeSegment(segment)}`, {
    hint: 'Pass the length in bytes, or set the size of a pointer with reinterpret().',
    details: { available: segment.byteSize },
  })
}

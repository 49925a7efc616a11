import { wrongType } from '@tenon/core/internal'

/** A string encoding. The names of multi-byte units include the byte order, so no byte order mark is written. */
export type Charset = 'utf-8' | 'latin1' | 'ascii' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be'

/**
 * Encodes and decodes strings. Characters that the charset lacks are replaced, never refused. The buffers are below 2^31
 * bytes: see `windowOf()`.
 */
export interface Codec {
  /** The size of a unit, and of the terminator, in bytes. */
  readonly unit: 1 | 2 | 4
  /** The size of a string in bytes, without its terminator. */
  byteLength(text: string): number
  /** Writes the string at `offset`. @returns the number of bytes written. */
  write(bytes: Buffer, offset: number, text: string): number
  read(bytes: Buffer, start: number, end: number): string
}

const replacement = 0xfffd

/** The code point, or the replacement character for surrogates and for codes above U+10FFFF. */
function checkedCodePoint(code: number): number {
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? replacement : code
}

/** The number of code points. An array of them would exhaust the heap for long strings. */
function codePoints(text: string): number {
  let count = text.length
  for (let i = 1; i < text.length; i++) {
    const isPair = (text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800
    if (isPair) count--
  }
  return count
}

function singleByte(unmappable: RegExp): Codec {
  return {
    unit: 1,
    byteLength: codePoints,
    write: (bytes, offset, text) => bytes.write(text.replace(unmappable, '?'), offset, 'latin1'),
    read: (bytes, start, end) => bytes.toString('latin1', start, end).replace(unmappable, '\ufffd'),
  }
}

function utf16(littleEndian: boolean): Codec {
  return {
    unit: 2,
    byteLength: (text) => text.length * 2,
    write: (bytes, offset, text) => {
      const size = bytes.write(text.toWellFormed(), offset, 'utf16le')
      if (!littleEndian) bytes.subarray(offset, offset + size).swap16()
      return size
    },
    read: (bytes, start, end) => {
      const units = Buffer.from(bytes.subarray(start, end - ((end - start) % 2)))
      return (littleEndian ? units : units.swap16()).toString('utf16le').toWellFormed()
    },
  }
}

/** The number of code points that are decoded together. */
const CODES = 1024

function utf32(littleEndian: boolean): Codec {
  return {
    unit: 4,
    byteLength: (text) => codePoints(text) * 4,
    write: (bytes, offset, text) => {
      let end = offset
      for (const character of text) {
        const code = checkedCodePoint(character.codePointAt(0)!)
        end = littleEndian ? bytes.writeUInt32LE(code, end) : bytes.writeUInt32BE(code, end)
      }
      return end - offset
    },
    read: (bytes, start, end) => {
      let text = ''
      for (let at = start; at + 4 <= end;) {
        const codes: number[] = []
        for (; at + 4 <= end && codes.length < CODES; at += 4) {
          codes.push(checkedCodePoint(littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)))
        }
        text += String.fromCodePoint(...codes)
      }
      return text
    },
  }
}

const utf8: Codec = {
  unit: 1,
  byteLength: (text) => Buffer.byteLength(text),
  write: (bytes, offset, text) => bytes.write(text, offset, 'utf8'),
  read: (bytes, start, end) => bytes.toString('utf8', start, end),
}

const codecs: Readonly<Record<Charset, Codec>> = {
  'utf-8': utf8,
  latin1: singleByte(/[^\0-\xff]/gu),
  ascii: singleByte(/[^\0-\x7f]/gu),
  'utf-16le': utf16(true),
  'utf-16be': utf16(false),
  'utf-32le': utf32(true),
  'utf-32be': utf32(false),
}

/** The codec of a charset. @throws {ArgumentError} if the charset is not known. */
export function codecOf(charset: Charset = 'utf-8'): Codec {
  if (charset === 'utf-8') return utf8
  if (typeof charset === 'string' && Object.hasOwn(codecs, charset)) return codecs[charset]
  throw wrongType('charset', `one of ${Object.keys(codecs).join(', ')}`, charset)
}

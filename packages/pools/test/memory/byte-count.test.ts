import { ArgumentError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { byteCount, parseByteCount } from '../../src/memory/byte-count.ts'

describe('numbers of bytes', () => {
  test.each([
    ['4096 B', 4096],
    ['512MiB', 2 ** 29],
    ['1.5 GiB', 1.5 * 2 ** 30],
    ['2GB', 2e9],
    ['10MB', 10e6],
    [' 64 kB ', 64_000],
    ['1TiB', 2 ** 40],
    ['1 TB', 1e12],
    ['7B', 7],
  ])('%j has %d bytes', (text, bytes) => {
    expect(parseByteCount(text)).toBe(bytes)
    expect(byteCount(text, 'memory')).toBe(bytes)
  })

  test.each([
    '',
    ' ',
    '4096',
    '0',
    ' 1 ',
    '-1',
    '1.5',
    '1.0000001KiB',
    '9999999999TiB',
    '1M',
    '1 KIB',
    '1 mb',
    'inf',
    '1e3',
    '0x10',
    '1constructor',
  ])('%j has none', (text) => {
    expect(parseByteCount(text)).toBeUndefined()
    expect(() => byteCount(text, 'memory')).toThrow(ArgumentError)
    expect(() => byteCount(text, 'memory')).toThrow(/Hint: Write a number and one of the units B, KiB, .*, TB\./)
  })
})

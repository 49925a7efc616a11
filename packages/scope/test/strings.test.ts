import { ArgumentError, ArgumentRangeError, BoundsError, ReadOnlyError } from '@tenon/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isInstrumented } from '../src/diagnostics/debug.ts'
import { MemoryLayout, MemorySegment, NativeScope, toCString } from '../src/index.ts'
import type { Charset } from '../src/index.ts'

const charsets: readonly (readonly [Charset, number])[] = [
  ['utf-8', 1],
  ['latin1', 1],
  ['ascii', 1],
  ['utf-16le', 2],
  ['utf-16be', 2],
  ['utf-32le', 4],
  ['utf-32be', 4],
]
const texts = ['', 'testing', 'é', '¥', 'snow ☃ man', 'rockets 🚀🚀', 'x'.repeat(100_000)]
const bytesOf = (segment: MemorySegment): number[] => [...(segment.toArray(MemoryLayout.uint8) as Uint8Array)]

for (const [charset, unit] of charsets) {
  describe(charset, () => {
    const isUnicode = charset.startsWith('utf')
    const usable = texts.filter(
      (text) => isUnicode || Buffer.byteLength(text) === text.length || (charset === 'latin1' && text.length === 1),
    )

    test('reads back a string, with a terminator of one unit', () => {
      for (const text of usable) {
        using scope = NativeScope.ofConfined()
        const segment = toCString(text, scope, { charset })
        expect(segment.getString(0, charset)).toBe(text)
        expect(bytesOf(segment).slice(-unit)).toEqual(new Array(unit).fill(0))
      }
    })

    test('writes the bytes of the string without a byte order mark', () => {
      using scope = NativeScope.ofConfined()
      expect(toCString('ab', scope, { charset }).byteSize).toBe(3 * unit)
      const [first] = bytesOf(toCString('a', scope, { charset }).asSlice(charset.endsWith('be') ? unit - 1 : 0))
      expect(first).toBe(0x61)
    })

    test('throws BoundsError without a terminator inside the segment', () => {
      const segment = MemorySegment.allocateNative(16 * unit).fill(0x41)
      if (unit === 4) return
      expect(() => segment.getString(0, charset)).toThrow(BoundsError)
      expect(() => segment.asSlice(0, 0).getString(0, charset)).toThrow(BoundsError)
      segment.asSlice(8 * unit, unit).fill(0)
      expect(() => segment.asSlice(0, 8 * unit).getString(0, charset)).toThrow(/terminator/)
      expect(() => segment.asSlice(0, 9 * unit - 1).getString(0, charset)).toThrow(BoundsError)
      expect(segment.getString(0, charset)).toHaveLength(8)
    })

    test('reads a given number of bytes without a terminator', () => {
      using scope = NativeScope.ofConfined()
      const segment = toCString('abcdef', scope, { charset })
      expect(segment.getString(unit, charset, 3 * unit)).toBe('bcd')
      expect(segment.getString(0, charset, 0)).toBe('')
      expect(() => segment.getString(0, charset, 8 * unit)).toThrow(BoundsError)
      expect(() => segment.getString(8 * unit, charset, 0)).toThrow(BoundsError)
      for (const length of [-1, 0.5, Number.NaN, null, 2 ** 53]) {
        expect(() => segment.getString(0, charset, length as number)).toThrow(ArgumentError)
      }
    })

    test('reads from any offset', () => {
      for (let offset = 0; offset < 8; offset++) {
        const segment = MemorySegment.allocateNative(64).fill(0xee)
        segment.setString(offset, 'hello', { charset })
        expect(segment.getString(offset, charset)).toBe('hello')
        expect(segment.getString(offset + unit, charset)).toBe('ello')
        expect(segment.getUint8(offset + 6 * unit)).toBe(0xee)
      }
    })
  })
}

test('other charsets are refused', () => {
  using scope = NativeScope.ofConfined()
  for (const charset of ['utf-16', 'utf-7', 'UTF-8', '', null, 1, 'toString']) {
    expect(() => toCString('a', scope, { charset: charset as Charset }), String(charset)).toThrow(ArgumentError)
    expect(() => scope.allocate(8).getString(0, charset as Charset), String(charset)).toThrow(ArgumentError)
  }
})

test('characters that the charset lacks are replaced, as TextEncoder does', () => {
  using scope = NativeScope.ofConfined()
  expect(bytesOf(toCString('\ud800', scope))).toEqual([0xef, 0xbf, 0xbd, 0])
  expect(bytesOf(toCString('\ud800x', scope, { charset: 'utf-16le' }))).toEqual([0xfd, 0xff, 0x78, 0, 0, 0])
  expect(bytesOf(toCString('é☃', scope, { charset: 'ascii' }))).toEqual([0x3f, 0x3f, 0])
  expect(bytesOf(toCString('é☃🚀', scope, { charset: 'latin1' }))).toEqual([0xe9, 0x3f, 0x3f, 0])
  const bytes = MemorySegment.ofBuffer(new Uint8Array([0x61, 0xff, 0x62, 0]))
  expect(bytes.getString(0)).toBe('a\ufffdb')
  expect(bytes.getString(0, 'ascii')).toBe('a\ufffdb')
  const surrogate = MemorySegment.ofBuffer(new Uint8Array([0x00, 0xd8, 0, 0, 0xff, 0xff, 0x20, 0, 0, 0, 0, 0]))
  expect(surrogate.getString(0, 'utf-32le')).toBe('\ufffd\ufffd')
})

test('U+0000 inside a string is refused, unless nul is allow', () => {
  using scope = NativeScope.ofConfined()
  for (const text of ['\0', 'ab\0cd', `${'x'.repeat(100)}\0`]) {
    expect(() => toCString(text, scope)).toThrow(ArgumentError)
    expect(() => scope.allocate(200).setString(0, text)).toThrow(/U\+0000/)
    expect(toCString(text, scope, { nul: 'allow' }).byteSize).toBe(text.length + 1)
  }
  expect(toCString('ab\0cd', scope, { nul: 'allow' }).getString(0)).toBe('ab')
  for (const nul of ['no', true, null])
    expect(() => toCString('ab', scope, { nul: nul as never })).toThrow(ArgumentError)
})

test('setString() writes nothing if the string does not fit', () => {
  const segment = MemorySegment.allocateNative(6)
  for (const text of ['abcdef', 'ééé', 'x'.repeat(100)]) {
    expect(() => segment.setString(0, text)).toThrow(BoundsError)
    expect(bytesOf(segment)).toEqual([0, 0, 0, 0, 0, 0])
  }
  segment.setString(0, 'abcde')
  expect(segment.getString(0)).toBe('abcde')
  expect(() => segment.setString(1, 'abcde')).toThrow(BoundsError)
  expect(() => segment.asReadOnly().setString(0, '')).toThrow(ReadOnlyError)
})

test.each(charsets)(
  'a string of %s and its terminator lie inside the segment, or nothing is written',
  (charset, unit) => {
    const outer = MemorySegment.allocateNative(32).fill(0x77)
    const segment = outer.asSlice(0, 16)
    const behind = new Array(16).fill(0x77)
    for (let size = 0; size <= 16; size += unit) {
      for (const text of ['', 'a', 'ab', 'abc', 'abcd']) {
        segment.fill(0x77)
        const at = 16 - size
        const write = (): void => segment.setString(at, text, { charset })
        if (text.length * unit + unit <= size) {
          write()
          expect(segment.getString(at, charset)).toBe(text)
        } else {
          expect(write).toThrow(BoundsError)
          expect(bytesOf(segment)).toEqual(new Array(16).fill(0x77))
        }
        expect(bytesOf(outer.asSlice(16))).toEqual(behind)
      }
    }
  },
)

test('values that are not strings are refused', () => {
  using scope = NativeScope.ofConfined()
  for (const text of [null, undefined, 1, {}, Buffer.from('a')]) {
    expect(() => toCString(text as string, scope)).toThrow(ArgumentError)
    expect(() => scope.allocate(8).setString(0, text as string)).toThrow(ArgumentError)
  }
})

test('every Unicode charset preserves any string', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.constantFrom(...charsets.filter(([name]) => name.startsWith('utf'))),
      (text, [charset]) => {
        using scope = NativeScope.ofConfined()
        const clean = text.replaceAll('\0', '').toWellFormed()
        expect(toCString(clean, scope, { charset }).getString(0, charset)).toBe(clean)
      },
    ),
  )
})

test('getString() decodes any bytes like TextDecoder', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), (bytes, at) => {
      const planted = new Uint8Array([...bytes, 0, 1, 2])
      const end = Math.min(at, bytes.length)
      planted[end] = 0
      const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(planted.subarray(0, planted.indexOf(0)))
      expect(MemorySegment.ofBuffer(planted).getString(0)).toBe(expected)
    }),
  )
})

// An instrumented arena measures a string before it allocates memory for it.
if (!isInstrumented)
  test('a C string is refused while utf8Write() returns wrong sizes, and the memory of other scopes stays', () => {
    const methods = Buffer.prototype as unknown as { utf8Write: (...parameters: never[]) => unknown }
    const before = methods.utf8Write
    for (const size of [-1, -60, 151, 5000, 2 ** 31, NaN, 1.5, '8']) {
      const scopes = [1, 2, 3].map(() => NativeScope.ofConfined())
      const [first, second, third] = scopes.map((scope) => scope.allocate(64).fill(7))
      methods.utf8Write = () => size
      try {
        expect(() => toCString('é'.repeat(50), scopes[1]!)).toThrow(ArgumentRangeError)
      } finally {
        methods.utf8Write = before
      }
      scopes[1]!.close()
      for (let i = 0; i < 64; i++) expect([first!.getInt8(i), third!.getInt8(i)]).toEqual([7, 7])
      expect(second!.lifetime.isAlive).toBe(false)
      scopes[0]!.close()
      scopes[2]!.close()
    }
  })

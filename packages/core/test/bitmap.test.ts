import { countZeros, isSet, packBits, unpackBits } from '@tenon/core/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test('bits are read, copied and counted at any position', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(), (bits, from, to) => {
      const all = Array.from(bits, (byte) => Array.from({ length: 8 }, (_, bit) => (byte >> bit) & 1)).flat()
      const first = from % all.length
      const part = all.slice(first, first + (to % (all.length - first + 1)))
      const bytes = new Uint8Array(part.length)
      unpackBits(bits, first, bytes)
      expect([...bytes]).toEqual(part)
      expect(part.map((_, i) => Number(isSet(bits, first + i)))).toEqual(part)
      const packed = packBits(part)
      expect([packed.length, part.map((_, i) => Number(isSet(packed, i)))]).toEqual([Math.ceil(part.length / 8), part])
      expect(countZeros(bits, first, part.length)).toBe(part.filter((bit) => bit === 0).length)
    }),
  )
})

test('bits behind the first 2^32 are not those at the beginning', () => {
  const bits = new Uint8Array(2 ** 29 + 1)
  bits[0] = 0b01
  bits[2 ** 29] = 0b10
  const bytes = new Uint8Array(2)
  unpackBits(bits, 2 ** 32, bytes)
  expect([...bytes]).toEqual([0, 1])
  expect([0, 1].map((i) => isSet(bits, 2 ** 32 + i))).toEqual([false, true])
  expect(countZeros(bits, 2 ** 32, 8)).toBe(7)
})

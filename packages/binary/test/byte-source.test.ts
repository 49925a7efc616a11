import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cached } from '../src/byte-source.ts'
import { memorySource } from './memory-source.ts'

test('cached() reads the bytes of its source, and reads a block again only if it was not used for long', () => {
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7 + (index >> 8)) & 255))
  const source = memorySource(bytes)
  let reads = 0
  const counted = {
    byteSize: source.byteSize,
    read: (offset: number, length: number) => (reads++, source.read(offset, length)),
  }
  const small = cached(counted)
  fc.assert(
    fc.property(fc.nat(200_000), fc.nat(3000), (offset, length) => {
      const end = Math.min(offset + length, 200_000)
      expect(small.read(offset, end - offset).equals(bytes.subarray(offset, end))).toBe(true)
    }),
    { numRuns: 300 },
  )
  reads = 0
  for (let round = 0; round < 10; round += 1)
    for (let offset = 0; offset < 190_000; offset += 65_536) small.read(offset, 8)
  expect(reads).toBeLessThanOrEqual(3)
})

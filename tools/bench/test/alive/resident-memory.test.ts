import { expect, test } from 'vitest'
import { parseResident, residentBytes } from '../../src/alive/resident-memory.ts'

const ROLLUP = `5581c0000000-7ffd1a3d9000 ---p 00000000 00:00 0                          [rollup]
Rss:               57256 kB
Pss:               21032 kB
Pss_Dirty:         12000 kB
Private_Dirty:     12000 kB
`

test('parseResident() returns the bytes of the line Rss', () => {
  expect(parseResident(ROLLUP)).toBe(57_256 * 1024)
})

test('parseResident() throws for a text without the line', () => {
  expect(() => parseResident('Pss: 12 kB\n')).toThrow('smaps_rollup must have a line "Rss: N kB"')
})

test('residentBytes() grows by memory that is written', () => {
  const before = residentBytes()
  const memory = new Uint8Array(64 * 2 ** 20).fill(1)
  expect(residentBytes() - before).toBeGreaterThan(memory.length * 0.9)
})

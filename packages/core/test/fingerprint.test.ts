import { readFileSync } from 'node:fs'
import { coreLibrary } from '@tenon/core/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprint } from '../src/native/fingerprint.ts'

/** The copy is aligned, as what `readFileSync` returns is. */
const of = (bytes: Uint8Array): string => fingerprint(new Uint8Array(bytes))

test('a fingerprint is that of the bytes', () => {
  expect(of(new Uint8Array())).toMatch(/^[0-9a-f]{32}$/)
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => of(bytes) === of(bytes.slice())))
})

test('every changed bit, added byte and removed byte changes it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.nat(), fc.nat(255), (bytes, at, added) => {
      const changed = bytes.slice()
      changed[at % bytes.length]! ^= 1 << (at % 8)
      const others = [changed, Uint8Array.of(...bytes, added), bytes.slice(1), bytes.slice(0, -1)]
      for (const other of others) expect(of(other)).not.toBe(of(bytes))
    }),
  )
})

test('a byte that is the length, and no byte, have different ones', () => {
  expect(of(Uint8Array.of(1))).not.toBe(of(new Uint8Array()))
  expect(of(Uint8Array.of(2, 0))).not.toBe(of(Uint8Array.of(1)))
})

test('no two of 10,000 changes of a library have the same', () => {
  const library = new Uint8Array(readFileSync(coreLibrary().path).subarray(0, 8192))
  const found = new Set([of(library)])
  for (let i = 0; i < 10_000; i++) {
    const [at, bits] = [(i * 7919) % library.length, 1 + (i % 255)]
    library[at]! ^= bits
    found.add(of(library))
    library[at]! ^= bits
  }
  expect(found.size).toBeGreaterThan(9990)
})

test('words in another order have another', () => {
  const words = Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  const swapped = Int32Array.of(5, 6, 7, 8, 1, 2, 3, 4)
  expect(of(new Uint8Array(words.buffer))).not.toBe(of(new Uint8Array(swapped.buffer)))
})

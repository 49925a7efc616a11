import { describe, expect, test } from 'vitest'
import { MemoryLayout } from '../src/index.ts'

const { int8, int32, address, struct, union, sequence, padding } = MemoryLayout

describe('equality', () => {
  test('does not depend on characters of names', () => {
    const plain = struct({ a: int8, b: int8 })
    const tricky = [
      struct({ 'a@0=:int8<%1,b': int8 }),
      struct({ 'a@0=:int8<%1,b': int8, c: int8 }),
      struct({ a: int8.withName(':int8<%1,b@1='), b: int8 }),
      struct({ '"a"': int8, b: int8 }),
      struct({ 'a"': int8, b: int8 }),
      union({ 'a=:int8<%1|b': int8 }),
      union({ a: int8, b: int8 }),
      plain.withName('{a@0=:int8<%1,b@1=:int8<%1}2%1'),
      plain.withName('"x"'),
      plain.withName('x'),
      struct({ '': int8, b: int8 }),
      plain,
    ]
    tricky.forEach((one, i) => tricky.forEach((other, j) => expect(one.equals(other)).toBe(i === j)))
    expect(String(struct({ 'two words': int8, naïve_1: int8 }))).toBe('{"two words"@0=:int8<%1,naïve_1@1=:int8<%1}2%1')
  })

  test('compares structure, names, byte orders and alignments', () => {
    const make = (): unknown[] => [
      int32,
      int32.withOrder('big'),
      int32.withName('a'),
      int32.withByteAlignment(2),
      sequence(int32),
      sequence(int32, 3),
      struct({ a: int32 }),
      struct({ b: int32 }),
      struct({ a: int32, b: int32 }),
      union({ a: int32 }),
      address,
      address.withTargetLayout(int32),
      padding(4),
    ]
    const [some, others] = [make(), make()]
    some.forEach((one, i) => {
      others.forEach((other, j) => {
        expect((one as typeof int32).equals(other), `${one} and ${other}`).toBe(i === j)
      })
    })
    expect(int32.equals(null)).toBe(false)
  })
})

import { expect, test } from 'vitest'
import { TokenSource } from '../src/engine/token-source.ts'

const take = (count: number): number[] => {
  const source = new TokenSource()
  return Array.from({ length: count }, () => source.next())
}

test('tokens are whole numbers from 1 to 2^32 - 1, and never repeat', () => {
  const tokens = take(100_000)
  expect(new Set(tokens).size).toBe(tokens.length)
  expect(tokens.every((token) => Number.isInteger(token) && token > 0 && token < 2 ** 32)).toBe(true)
})

test('a token does not predict the next one, nor those of others', () => {
  const [mine, others] = [take(10_000), new Set(take(10_000))]
  // Of 10 000 random numbers among 2^32, about 0.02 are in another set of as many.
  expect(mine.filter((token) => others.has(token)).length).toBeLessThan(5)
  const rising = mine.filter((token, i) => i > 0 && token > mine[i - 1]!).length
  expect(rising / mine.length).toBeGreaterThan(0.45)
  expect(rising / mine.length).toBeLessThan(0.55)
  for (let bit = 0; bit < 32; bit++) {
    const ones = mine.filter((token) => Math.floor(token / 2 ** bit) % 2 === 1).length
    expect(ones / mine.length).toBeGreaterThan(0.45)
    expect(ones / mine.length).toBeLessThan(0.55)
  }
})

import { expect, test } from 'vitest'
import { growthOf, type Point } from '../../src/alive/growth.ts'

function points(counts: readonly number[], total: (count: number) => number): Point[] {
  return counts.map((count) => ({ count, total: total(count) }))
}

test.for([0, 0.5, 1, 1.1, 2])('growthOf() returns the exponent %d of a power', (exponent) => {
  const fitted = growthOf(points([1, 100, 10_000, 1_000_000], (count) => 250 * count ** exponent))
  expect(fitted).toBeCloseTo(exponent, 9)
})

test('growthOf() averages noise in the logarithms', () => {
  const noise = [1.1, 1 / 1.1, 1 / 1.1, 1.1]
  const fitted = growthOf(points([1, 100, 10_000, 1_000_000], (count) => count * noise[Math.log10(count) / 2]!))
  expect(fitted).toBeCloseTo(1, 9)
})

test('growthOf() returns more than 1 for objects that become slower', () => {
  const fitted = growthOf(points([1, 100, 10_000], (count) => count * (200 + count * 2)))
  expect(fitted).toBeGreaterThan(1.4)
})

test('growthOf() returns undefined for fewer than two counts', () => {
  expect(growthOf([])).toBeUndefined()
  expect(growthOf(points([100], (count) => count))).toBeUndefined()
  expect(growthOf(points([100, 100], (count) => count))).toBeUndefined()
})

test.for([
  { count: 0, total: 1 },
  { count: 1, total: 0 },
  { count: 1, total: -5 },
  { count: 1, total: Number.NaN },
])('growthOf() throws RangeError for %o', (point) => {
  expect(() => growthOf([{ count: 10, total: 1 }, point])).toThrow(RangeError)
})

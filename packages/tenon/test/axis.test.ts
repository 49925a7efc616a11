import { expect, test } from 'vitest'
import { axisOf, axisOver } from '../src/benchmark/axis.ts'

test('axisOf() is linear from zero for values of one decade, with round steps', () => {
  const { ticks, at } = axisOf([3, 14])
  expect(ticks).toEqual([0, 5, 10, 15])
  expect([0, 3, 15].map(at)).toEqual([0, 0.2, 1])
  expect(axisOf([0.2, 0.31]).ticks).toEqual([0, 0.1, 0.2, 0.3, 0.4])
  expect(axisOf([8000, 20_000]).ticks).toEqual([0, 5000, 10_000, 15_000, 20_000])
})

test('axisOf() is linear for values that are all zero', () => {
  const { ticks, at } = axisOf([0, 0])
  expect(ticks).toEqual([0, 0.2])
  expect(at(0)).toBe(0)
})

test('axisOf() is logarithmic from a decade on, with 1, 2 and 5 in each', () => {
  const { ticks, at } = axisOf([3, 70])
  expect(ticks).toEqual([2, 5, 10, 20, 50, 100])
  expect(at(2)).toBe(0)
  expect(at(100)).toBe(1)
  expect(at(20) - at(10)).toBeCloseTo(at(40) - at(20))
})

test('axisOf() has powers of ten only if the values span many decades', () => {
  expect(axisOf([30, 4_000_000]).ticks).toEqual([10, 100, 1000, 10_000, 100_000, 1e6, 1e7])
})

test('every value is within the axis', () => {
  for (const [least, most] of [
    [1, 10],
    [9.99, 100.01],
    [1e-3, 1e-1],
    [0.1, 0.99],
    [7, 7],
    [1, 1e9],
  ] as const) {
    const { at } = axisOf([least, most])
    expect(at(least)).toBeGreaterThanOrEqual(0)
    expect(at(most)).toBeLessThanOrEqual(1)
  }
})

test('axisOver() has a tick at each value, from the least to the largest', () => {
  const linear = axisOver([4, 1, 2, 2])
  expect(linear.ticks).toEqual([1, 2, 4])
  expect([1, 2, 4].map(linear.at)).toEqual([0, 1 / 3, 1])
  const logarithmic = axisOver([1, 4, 16])
  expect(logarithmic.at(4)).toBeCloseTo(0.5)
  expect(axisOver([8]).at(8)).toBe(0.5)
})

import { expect, test } from 'vitest'

import { ratioOf, spreadOf } from '../src/statistics.ts'

test('spreadOf() returns median and quartiles of an odd number of samples', () => {
  expect(spreadOf([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 2, high: 4 })
})

test('spreadOf() interpolates quartiles between samples', () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, low: 1.75, high: 3.25 })
})

test('spreadOf() returns the only sample for all three', () => {
  expect(spreadOf([7])).toEqual({ median: 7, low: 7, high: 7 })
})

test('spreadOf() refuses an empty list', () => {
  expect(() => spreadOf([])).toThrow(RangeError)
})

test('an outlier changes neither median nor quartiles', () => {
  expect(spreadOf([2, 2, 2, 2, 1000])).toEqual({ median: 2, low: 2, high: 2 })
})

test('ratioOf() cancels an influence on whole rounds', () => {
  expect(ratioOf([1, 10, 100, 5, 7], [2, 20, 200, 10, 14])).toEqual({ median: 0.5, low: 0.5, high: 0.5 })
})

import { expect, test } from 'vitest'

import { joinSamples, resultOf, type RowSamples } from '../src/result.ts'
import { describeMiss, missesOf } from '../src/targets.ts'

const samples: RowSamples = {
  package: '@tenon/x',
  name: 'row',
  unit: 'ns',
  node: '24.21.0',
  target: { peer: 0.5 },
  ours: [50, 50, 50, 50, 50],
  peers: { peer: [100, 100, 100, 100, 100], other: [1, 1, 1, 1, 1] },
}

test('a result within the margin of its target is not a miss', () => {
  expect(missesOf(resultOf(samples))).toEqual([])
  expect(missesOf(resultOf({ ...samples, ours: [52, 52, 52, 52, 52] }))).toEqual([])
})

test('a target is missed if three quarters of the rounds exceed the margin', () => {
  expect(missesOf(resultOf({ ...samples, ours: [60, 60, 60, 60, 40] }))).toHaveLength(1)
  expect(missesOf(resultOf({ ...samples, ours: [60, 60, 60, 40, 40] }))).toEqual([])
})

test('more is better for GB/s', () => {
  const faster = { ...samples, unit: 'GB/s' as const, bytes: 100, target: { peer: 2 } }
  expect(missesOf(resultOf(faster))).toEqual([])
  const misses = missesOf(resultOf({ ...faster, ours: [60, 60, 60, 60, 60] }))
  expect(misses.map(describeMiss)).toEqual(['@tenon/x: row on Node 24.21.0 is 1.67 of peer, wanted at least 2'])
})

test('describeMiss() states the target', () => {
  const misses = missesOf(resultOf({ ...samples, ours: [75, 75, 75, 75, 75] }))
  expect(misses.map(describeMiss)).toEqual(['@tenon/x: row on Node 24.21.0 is 0.75 of peer, wanted at most 0.5'])
})

test('joinSamples() joins the rounds of several processes', () => {
  const joined = joinSamples(samples, { ...samples, ours: [70, 70, 70, 70, 70] })
  expect(resultOf(joined)).toMatchObject({ rounds: 10, ours: 60, ratios: { peer: 0.6, other: 60 } })
})

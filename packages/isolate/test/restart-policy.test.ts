import { describe, expect, test } from 'vitest'
import { Backoff, CrashWindow } from '../src/host/restart-policy.ts'
import { TimeCounts } from '../src/host/call-metrics.ts'

const limits = { limit: 2, window: 1000, backoff: 50 }

describe('CrashWindow', () => {
  test('more crashes than the limit within the window are too many', () => {
    const crashes = new CrashWindow(limits)
    expect([0, 10, 1000].map((time) => crashes.add(time))).toEqual([false, false, true])
  })

  test('crashes before the window do not count, nor those before clear()', () => {
    const crashes = new CrashWindow(limits)
    expect([0, 10, 1001, 1011].map((time) => crashes.add(time))).toEqual([false, false, false, false])
    crashes.clear()
    expect(crashes.count).toBe(0)
    expect(crashes.add(1013)).toBe(false)
  })

  test('an infinite limit is never exceeded', () => {
    const crashes = new CrashWindow({ ...limits, limit: Infinity })
    for (let index = 0; index < 100; index++) expect(crashes.add(index)).toBe(false)
  })
})

test('the first crash costs no time, the next ones twice as much up to the limit, and a success forgets them', () => {
  const backoff = new Backoff(limits.backoff)
  expect([1, 2, 3, 4, 5, 6].map(() => backoff.add())).toEqual([0, 10, 20, 40, 50, 50])
  backoff.clear()
  expect(backoff.add()).toBe(0)
})

test('a histogram has a bucket for each power of two nanoseconds', () => {
  const times = new TimeCounts()
  for (const time of [0, 1, 2, 3, 4, 1023, 1024, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 39, 2 ** 50]) times.add(time)
  const { count, buckets } = times.snapshot()
  expect(count).toBe(12)
  expect(Object.entries(buckets).filter(([, n]) => n > 0)).toEqual([
    ['0', 2],
    ['1', 2],
    ['2', 1],
    ['9', 1],
    ['10', 1],
    ['31', 2],
    ['32', 1],
    ['39', 2],
  ])
})

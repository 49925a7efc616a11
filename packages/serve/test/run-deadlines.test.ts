import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { RunDeadlines } from '../src/scheduler/run-deadlines.ts'

const activeTimers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length

describe('the deadlines of runs', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('pass for each run after its own time, in one timer', () => {
    const deadlines = new RunDeadlines(100)
    const expired: string[] = []
    deadlines.add(() => expired.push('first'))
    vi.advanceTimersByTime(60)
    deadlines.add(() => expired.push('second'))
    deadlines.add(() => expired.push('third'))
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(39)
    expect(expired).toEqual([])
    vi.advanceTimersByTime(1)
    expect(expired).toEqual(['first'])
    vi.advanceTimersByTime(59)
    expect(expired).toEqual(['first'])
    vi.advanceTimersByTime(1)
    expect(expired).toEqual(['first', 'second', 'third'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('do not pass for runs that were deleted, also not for those that the expiry of another run deletes', () => {
    const deadlines = new RunDeadlines(100)
    const expired: string[] = []
    const first = deadlines.add(() => expired.push('first'))
    deadlines.add(() => {
      expired.push('second')
      deadlines.delete(third)
    })
    const third = deadlines.add(() => expired.push('third'))
    deadlines.delete(first)
    vi.advanceTimersByTime(1000)
    expect(expired).toEqual(['second'])
  })

  test('pass also for a run that the expiry of another one begins', () => {
    const deadlines = new RunDeadlines(100)
    const expired: string[] = []
    deadlines.add(() => {
      expired.push('first')
      deadlines.add(() => expired.push('again'))
    })
    vi.advanceTimersByTime(199)
    expect(expired).toEqual(['first'])
    vi.advanceTimersByTime(1)
    expect(expired).toEqual(['first', 'again'])
  })

  test('of more than 24 days, or without end, need no timer', () => {
    for (const deadline of [2 ** 31, Infinity]) {
      new RunDeadlines(deadline).add(() => expect.unreachable('a deadline passed'))
      expect(vi.getTimerCount()).toBe(0)
    }
  })
})

test('deadlines keep the process alive as long as there are runs', () => {
  const before = activeTimers()
  const deadlines = new RunDeadlines(60_000)
  const first = deadlines.add(() => {})
  const second = deadlines.add(() => {})
  expect(activeTimers()).toBe(before + 1)
  deadlines.delete(first)
  expect(activeTimers()).toBe(before + 1)
  deadlines.delete(second)
  deadlines.delete(second)
  expect(activeTimers()).toBe(before)
  const third = deadlines.add(() => {})
  expect(activeTimers()).toBe(before + 1)
  deadlines.delete(third)
  expect(activeTimers()).toBe(before)
})

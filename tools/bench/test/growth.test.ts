import { beforeEach, expect, test, vi } from 'vitest'
import { isGrowing, measureGrowth } from '../src/growth/measure-growth.ts'
import type { GrowthRow } from '../src/growth/suite.ts'

/** The time in milliseconds, which only {@link take} moves. */
let now = 0

beforeEach(() => {
  now = 0
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now)
  return () => spy.mockRestore()
})

const take = (milliseconds: number): void => void (now += milliseconds)

const row = (power: number, others: Partial<GrowthRow> = {}): GrowthRow => ({
  name: 'things',
  counts: [1, 10, 100],
  open: (count) => ({ run: () => take(count ** power) }),
  ...others,
})

test('the exponent is that of the time: 1 for twice the time with twice the things', async () => {
  const linear = await measureGrowth('@tenon/x', row(1))
  expect(linear).toMatchObject({ package: '@tenon/x', name: 'things' })
  expect(linear.points.map(({ count, nanoseconds }) => [count, nanoseconds])).toEqual([
    [1, 1e6],
    [10, 1e7],
    [100, 1e8],
  ])
  expect(linear.exponent).toBeCloseTo(1)
  expect(isGrowing(linear)).toBe(false)
})

test('time that grows faster is a problem, unless the row has a reason', async () => {
  const quadratic = await measureGrowth('@tenon/x', row(2))
  expect(quadratic.exponent).toBeCloseTo(2)
  expect(isGrowing(quadratic)).toBe(true)
  const reason = 'pairs are compared'
  expect(isGrowing(await measureGrowth('@tenon/x', row(2, { reason })))).toBe(false)
})

test('what was opened is closed, also after an error, and promises are awaited', async () => {
  const closed: number[] = []
  const open = (count: number) => ({
    run: async () => {
      await Promise.resolve()
      take(6)
      if (count === 100) throw new Error('no more')
    },
    close: () => void closed.push(count),
  })
  await expect(measureGrowth('@tenon/x', row(1, { open }))).rejects.toThrow('no more')
  expect(closed).toEqual([1, 10, 100])
})

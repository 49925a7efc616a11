import { expect, test } from 'vitest'

import type { Loop } from '../src/loop.ts'
import { FEWEST_ROUNDS, measure, type Plan } from '../src/measure.ts'
import { ratioOf, spreadOf } from '../src/statistics.ts'
import { fakeTime } from './fake-time.ts'

const plan: Plan = { warmup: 1e6, batch: 1e6, rounds: 9, processes: 1, budget: 1e12 }

/** The last `count` measured runs. Each follows an iteration that is not counted. */
function countedRuns(runs: ReturnType<typeof fakeTime>['runs'], count: number): typeof runs {
  const turns = runs.slice(-2 * count)
  for (let i = 0; i < turns.length; i += 2) expect(turns[i]).toEqual({ name: turns[i + 1]!.name, iterations: 1 })
  return turns.filter((_, i) => i % 2 === 1)
}

test('measure() returns the time of an iteration of each contestant', async () => {
  const time = fakeTime()
  const [a, b] = await measure([time.taking(4), time.taking(16)], plan, time.clock)
  expect(a).toEqual(Array.from({ length: 9 }, () => 4))
  expect(b).toEqual(Array.from({ length: 9 }, () => 16))
})

test('a batch takes the planned time', async () => {
  const time = fakeTime()
  await measure([time.taking(4, 'a'), time.taking(2e6, 'slow')], plan, time.clock)
  const last = countedRuns(time.runs, 2 * plan.rounds)
  expect(new Set(last.filter(({ name }) => name === 'a').map(({ iterations }) => iterations))).toEqual(
    new Set([250_000]),
  )
  expect(new Set(last.filter(({ name }) => name === 'slow').map(({ iterations }) => iterations))).toEqual(new Set([1]))
})

test('an interrupted try does not shorten the batches', async () => {
  const time = fakeTime()
  let runs = 0
  const interrupted: Loop = (iterations) => {
    time.slowdown = ++runs % 3 === 0 ? 1e4 : 1
    time.taking(4)(iterations)
  }
  await measure([interrupted], { ...plan, warmup: 0 }, time.clock)
  expect(Math.max(...time.runs.slice(-2).map(({ iterations }) => iterations))).toBe(250_000)
})

test('the warm-up consists of short runs and lasts the planned time', async () => {
  const time = fakeTime()
  await measure([time.taking(1)], { ...plan, warmup: 1e6, batch: 1e8 }, time.clock)
  let warm = 0
  for (const { iterations } of time.runs) {
    if (iterations > 50_000 || warm >= 1e6) break
    warm += iterations
  }
  expect(warm).toBeGreaterThanOrEqual(1e6)
})

test('contestants take turns, and each round begins with another one', async () => {
  const time = fakeTime()
  const names = ['a', 'b', 'c']
  await measure(
    names.map((name) => time.taking(10, name)),
    { ...plan, rounds: 5 },
    time.clock,
  )
  const order = countedRuns(time.runs, 15).map(({ name }) => name)
  expect(order.join('')).toBe('abcbcacababcbca')
})

test('a machine that becomes slower changes the figures but hardly the ratio', async () => {
  const time = fakeTime()
  const slowing =
    (nanoseconds: number): Loop =>
    (iterations) => {
      if (iterations > 1) time.slowdown *= 1.01
      time.taking(nanoseconds)(iterations)
    }
  const [fast, slow] = await measure([slowing(6), slowing(12)], plan, time.clock)
  const figures = spreadOf(fast!)
  expect((figures.high - figures.low) / figures.median).toBeGreaterThan(0.06)
  const ratio = ratioOf(fast!, slow!)
  expect(ratio.low).toBeGreaterThan(0.494)
  expect(ratio.high).toBeLessThan(0.506)
})

test('a small budget cuts the rounds, but not below the minimum for quartiles', async () => {
  const time = fakeTime()
  const [some] = await measure([time.taking(1e6)], { ...plan, rounds: 100, budget: 4e7 }, time.clock)
  expect(some).toHaveLength(14)
  const [fewest] = await measure([time.taking(1e6)], { ...plan, rounds: 100, budget: 0 }, time.clock)
  expect(fewest).toHaveLength(FEWEST_ROUNDS)
})

test('the time of a promise ends when it is fulfilled', async () => {
  const time = fakeTime()
  const loop = time.taking(8)
  const [samples] = await measure(
    [async (iterations) => Promise.resolve().then(() => loop(iterations))],
    { ...plan, rounds: 5 },
    time.clock,
  )
  expect(samples).toEqual([8, 8, 8, 8, 8])
})

test('the process clock advances', async () => {
  let sum = 0
  const [samples] = await measure(
    [
      (iterations) => {
        for (let i = 0; i < iterations; i++) sum += i
        return sum
      },
    ],
    { ...plan, rounds: 5, batch: 1e5, warmup: 1e5 },
  )
  expect(samples!.every((sample) => sample > 0)).toBe(true)
})

import { expect, test } from 'vitest'
import { type AliveTask, reasonToSkip, runAlive } from '../../src/alive/run-alive.ts'
import { contestant, sample, task } from './fake-results.ts'

const silent = { progress: () => {}, freeBytes: () => 16 * 2 ** 30 }

test('runAlive() measures each count of each row in turns, and begins each round with another row', async () => {
  const runs: string[] = []
  const node = contestant((row, alive) => {
    runs.push(`${row.name} ${alive}`)
    return sample(alive, 100)
  })
  const tasks = [task({ name: 'a' }), task({ name: 'b' })]
  const { series, failures } = await runAlive({ tasks, contestants: [node], counts: [100, 1], rounds: 2, ...silent })
  expect(failures).toEqual([])
  expect(runs).toEqual(['a 1', 'b 1', 'a 100', 'b 100', 'b 1', 'a 1', 'b 100', 'a 100'])
  expect(series.map(({ samples }) => [...samples].map(([alive, list]) => [alive, list.length]))).toEqual([
    [
      [1, 2],
      [100, 2],
    ],
    [
      [1, 2],
      [100, 2],
    ],
  ])
})

test('runAlive() measures NumPy only in rows that have an expression', async () => {
  const numpy = contestant((_, alive) => sample(alive, 50), 'NumPy 1.24.2')
  const node = contestant((_, alive) => sample(alive, 50))
  const tasks = [task({ name: 'a', numpy: { make: 'np.empty(8)' } }), task({ name: 'b' })]
  const { series } = await runAlive({ tasks, contestants: [node, numpy], counts: [1], rounds: 1, ...silent })
  expect(series.map(({ task: { row }, contestant: { name } }) => `${row.name}: ${name}`)).toEqual([
    'a: Node 24.21.0',
    'a: NumPy 1.24.2',
    'b: Node 24.21.0',
  ])
})

test('runAlive() does not exceed the largest count of a row', async () => {
  const node = contestant((_, alive) => sample(alive, 50))
  const options = { contestants: [node], counts: [1, 100], rounds: 1, ...silent }
  const { series } = await runAlive({ tasks: [task({ most: 1 })], ...options })
  expect([...series[0]!.samples.keys()]).toEqual([1])
  expect([...series[0]!.skipped]).toEqual([])
})

test('runAlive() reports a failed process once, and goes on with the other rows', async () => {
  const tasks: AliveTask[] = [task({ name: 'a' }), task({ name: 'b' })]
  const node = contestant((row, alive) => {
    if (row.name === 'a' && alive === 100) throw new Error('a with 100 alive ended with SIGSEGV')
    return sample(alive, 50)
  })
  const { series, failures } = await runAlive({ tasks, contestants: [node], counts: [1, 100], rounds: 2, ...silent })
  expect(failures).toEqual([expect.stringContaining('on Node 24.21.0: a with 100 alive ended with SIGSEGV')])
  expect(series.map(({ samples }) => [...samples.keys()])).toEqual([[1], [1, 100]])
  expect([...series[0]!.skipped]).toEqual([[100, 'it failed']])
})

test('reasonToSkip() accepts a count without smaller counts', () => {
  expect(reasonToSkip([], 1_000_000, 0)).toBeUndefined()
  expect(reasonToSkip([sample(1_000_000, 1, 1e9)], 1_000_000, 0)).toBeUndefined()
})

test('reasonToSkip() refuses objects that would take more than half of the free memory', () => {
  const samples = [sample(1, 100), sample(10_000, 100, 2 ** 15)]
  expect(reasonToSkip(samples, 1_000_000, 2 ** 37)).toBeUndefined()
  expect(reasonToSkip(samples, 1_000_000, 2 ** 35)).toBe('the objects would take 30.5 GiB')
})

test('reasonToSkip() refuses objects that would take too long to make', () => {
  expect(reasonToSkip([sample(100, 60_000)], 1_000_000, 2 ** 37)).toBe('it would take 60 s to make the objects')
  expect(reasonToSkip([sample(100, 10_000)], 1_000_000, 2 ** 37)).toBeUndefined()
})

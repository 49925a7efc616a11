import { expect, test } from 'vitest'
import { aliveResultOf, growing, missedTargets } from '../../src/alive/alive-result.ts'
import type { ObjectSample } from '../../src/alive/measure-objects.ts'
import { contestant, result, sample, task } from './fake-results.ts'

const node = contestant(() => sample(1, 1))
const STEADY = { 1: 100, 100: 100, 10_000: 100, 1_000_000: 100 }
const GROWING = { 1: 100, 100: 200, 10_000: 400, 1_000_000: 800 }

test('aliveResultOf() returns medians and quartiles over the processes, and the bytes of one object', () => {
  const samples = new Map([
    [10_000, [sample(10_000, 100, 300), sample(10_000, 300, 500), sample(10_000, 200, 400, 7)]],
    [1, [sample(1, 90)]],
  ])
  const found = aliveResultOf({ task: task(), contestant: node, samples, skipped: new Map([[1_000_000, 'it failed']]) })
  expect(found).toMatchObject({
    package: '@tenon/x',
    name: 'thing',
    runtime: 'Node 24.21.0',
    skipped: { 1_000_000: 'it failed' },
  })
  expect(found.counts.map(({ alive, processes }) => [alive, processes])).toEqual([
    [1, 1],
    [10_000, 3],
  ])
  expect(found.counts[1]).toMatchObject({
    life: { median: 200, low: 150, high: 250 },
    make: { median: 100 },
    memory: { bytes: { median: 400 }, heap: { median: 40 }, after: { median: 1 }, leak: { median: 0, high: 3.5 } },
  })
})

test('aliveResultOf() fits the growth of each round', () => {
  expect(result(STEADY).growth).toMatchObject({ time: { median: expect.closeTo(1, 9) } })
  expect(result(GROWING).growth?.time.median).toBeCloseTo(1 + Math.log(2) / Math.log(100), 9)
  expect(result({ 100: 5 }).growth).toBeUndefined()
})

test('aliveResultOf() does not fit memory below the noise', () => {
  const of = (bytes: number): unknown => {
    const samples = new Map(
      [10_000, 1_000_000].map((alive) => [alive, [sample(alive, 100, bytes)]] as [number, ObjectSample[]]),
    )
    return aliveResultOf({ task: task(), contestant: node, samples, skipped: new Map() }).growth?.bytes?.median
  }
  expect(of(1000)).toBeCloseTo(1, 9)
  expect(of(100)).toBeUndefined()
})

test('growing() describes rows that grow faster than 1.1', () => {
  expect(growing([result(STEADY), result(GROWING)])).toEqual([
    '@tenon/x: thing on Node 24.21.0: the time must grow with an exponent of at most 1.1, got 1.15',
  ])
})

test('growing() describes memory that grows faster than the number of objects', () => {
  const samples = new Map([
    [10_000, [sample(10_000, 100, 1000)]],
    [1_000_000, [sample(1_000_000, 100, 4000)]],
  ])
  const found = aliveResultOf({ task: task(), contestant: node, samples, skipped: new Map() })
  expect(growing([found])).toEqual([
    expect.stringContaining('the memory must grow with an exponent of at most 1.1, got 1.30'),
  ])
})

test('growing() leaves out peers, NumPy, and rows whose peer grows as fast', () => {
  expect(growing([result(GROWING, { isPeer: true }), result(GROWING, {}, 'NumPy 1.24.2')])).toEqual([])
  const peer = result(GROWING, { name: 'slice()', isPeer: true })
  expect(growing([result(GROWING, { target: { growth: 'slice()' } }), peer])).toEqual([])
  const slower = result(STEADY, { name: 'slice()', isPeer: true })
  expect(growing([result(GROWING, { target: { growth: 'slice()' } }), slower])).toHaveLength(1)
})

test('growing() tolerates a row of which a quarter of the rounds does not grow', () => {
  const samples = new Map([
    [1, [sample(1, 100), sample(1, 100)]],
    [100, [sample(100, 1000), sample(100, 100)]],
  ])
  const found = aliveResultOf({ task: task(), contestant: node, samples, skipped: new Map() })
  expect(found.growth?.time).toMatchObject({ low: expect.closeTo(1.125, 9), median: expect.closeTo(1.25, 9) })
  expect(growing([found])).toHaveLength(1)
  samples.get(100)![0] = sample(100, 120)
  expect(growing([aliveResultOf({ task: task(), contestant: node, samples, skipped: new Map() })])).toEqual([])
})

test('missedTargets() compares one object with another row and with NumPy', () => {
  const target = { ratio: { given: 2.5 }, numpy: 1 }
  const ours = result(STEADY, { target })
  const given = result({ 1: 40 }, { name: 'given' })
  const numpy = result({ 1: 110 }, {}, 'NumPy 1.24.2')
  expect(missedTargets([ours, given, numpy])).toEqual([])
  const [fast, fastNumpy] = [result({ 1: 30 }, { name: 'given' }), result({ 1: 90 }, {}, 'NumPy 1.24.2')]
  expect(missedTargets([ours, fast, fastNumpy])).toEqual([
    '@tenon/x: thing on Node 24.21.0: takes 3.33 times as long as given, at most 2.5',
    '@tenon/x: thing on Node 24.21.0: takes 1.11 times as long as NumPy, at most 1',
  ])
  expect(missedTargets([ours])).toEqual([])
})

test('missedTargets() compares the resident bytes with 10,000 objects', () => {
  expect(missedTargets([result(STEADY, { target: { bytes: 100 } })])).toEqual([])
  expect(missedTargets([result(STEADY, { target: { bytes: 99 } })])).toEqual([
    '@tenon/x: thing on Node 24.21.0: an object has 100 resident bytes, at most 99',
  ])
})

import { expect, test } from 'vitest'

import type { Plan } from '../src/measure.ts'
import { resultOf } from '../src/result.ts'
import { runSuite, type Report } from '../src/run-suite.ts'
import type { Body, Row, Suite } from '../src/suite.ts'
import { fakeTime, type FakeTime } from './fake-time.ts'

const plan: Plan = { warmup: 1e5, batch: 1e5, rounds: 5, processes: 1, budget: 1e12 }

/** A loop as a body that takes a count. */
function body(time: FakeTime, nanoseconds: number): Body {
  const loop = time.taking(nanoseconds)
  return (iterations) => loop(iterations)
}

function row(time: FakeTime, changes: Partial<Row> = {}): Row {
  return {
    name: 'row',
    unit: 'ns',
    setup: () => ({ ours: body(time, 3), peers: { peer: body(time, 12) } }),
    ...changes,
  }
}

async function run(suite: Suite, time: FakeTime, rows?: string[]): Promise<Report[]> {
  const reports: Report[] = []
  const options = { plan, clock: time.clock, ...(rows && { rows }) }
  await runSuite(suite, options, (report) => {
    if (report.kind !== 'warning') reports.push(report)
  })
  return reports
}

function resultsOf(reports: readonly Report[]): ReturnType<typeof resultOf>[] {
  return reports.flatMap((report) => (report.kind === 'samples' ? [resultOf(report.samples)] : []))
}

test('runSuite() reports nanoseconds and the ratio to each peer', async () => {
  const time = fakeTime()
  const [result] = resultsOf(await run({ package: '@tenon/x', rows: [row(time, { target: { peer: 0.5 } })] }, time))
  expect(result).toEqual({
    package: '@tenon/x',
    name: 'row',
    unit: 'ns',
    node: process.versions.node,
    ours: 3,
    peers: { peer: 12 },
    ratios: { peer: 0.25 },
    quartiles: { ours: [3, 3], peers: { peer: [12, 12] }, ratios: { peer: [0.25, 0.25] } },
    rounds: 5,
    target: { peer: 0.5 },
  })
})

test('gigabytes per second are bytes per nanosecond', async () => {
  const time = fakeTime()
  const [result] = resultsOf(await run({ package: 'x', rows: [row(time, { unit: 'GB/s', bytes: 24 })] }, time))
  expect(result).toMatchObject({ ours: 8, peers: { peer: 2 }, ratios: { peer: 4 } })
})

test('milliseconds are a million nanoseconds', async () => {
  const time = fakeTime()
  const setup: Row['setup'] = () => ({ ours: body(time, 5e6), peers: { peer: body(time, 2e6) } })
  const [result] = resultsOf(await run({ package: 'x', rows: [row(time, { unit: 'ms', setup })] }, time))
  expect(result).toMatchObject({ ours: 5, peers: { peer: 2 }, ratios: { peer: 2.5 } })
})

test('a failed row is reported, the next one runs, and each is torn down once', async () => {
  const time = fakeTime()
  const tornDown: string[] = []
  const failing = row(time, {
    name: 'failing',
    setup: () => ({
      ours: () => {
        throw new Error('no memory')
      },
      peers: { peer: body(time, 1) },
      teardown: () => void tornDown.push('failing'),
    }),
  })
  const fine = row(time, {
    name: 'fine',
    setup: () => ({ ours: body(time, 1), peers: { peer: body(time, 1) }, teardown: () => void tornDown.push('fine') }),
  })
  const reports = await run({ package: 'x', rows: [failing, fine] }, time)
  expect(reports[0]).toMatchObject({ kind: 'failure', row: 'failing', message: expect.stringContaining('no memory') })
  expect(resultsOf(reports).map(({ name }) => name)).toEqual(['fine'])
  expect(tornDown).toEqual(['failing', 'fine'])
})

test('only selected rows run', async () => {
  const time = fakeTime()
  const rows = ['read one', 'read two', 'write'].map((name) => row(time, { name }))
  expect(resultsOf(await run({ package: 'x', rows }, time, ['read'])).map(({ name }) => name)).toEqual([
    'read one',
    'read two',
  ])
})

test.for([
  [
    'a target against nobody',
    { target: { nobody: 1 } },
    'row has a target for nobody, which is not one of its peers: peer',
  ],
  ['GB/s without bytes', { unit: 'GB/s' }, 'row must have bytes, because its unit is GB/s'],
  ['no peers', { setup: () => ({ ours: () => 1, peers: {} }) }, 'row must have at least one peer'],
] as [string, Partial<Row>, string][])('refuses %s', async ([, changes, message]) => {
  const time = fakeTime()
  const reports = await run({ package: 'x', rows: [row(time, changes)] }, time)
  expect(reports).toMatchObject([{ kind: 'failure', message: expect.stringContaining(message) }])
})

test('refuses two rows with the same name', async () => {
  const time = fakeTime()
  await expect(run({ package: 'x', rows: [row(time), row(time)] }, time)).rejects.toThrow('two rows with the name row')
})

test('warns of bodies from one function literal, but not of equal text', async () => {
  const time = fakeTime()
  const loops = [time.taking(1), time.taking(1), time.taking(1), time.taking(1)]
  const made =
    (index: number): Body =>
    (iterations) =>
      loops[index]!(iterations)
  const reports: Report[] = []
  const shared = row(time, { name: 'shared', setup: () => ({ ours: made(0), peers: { peer: made(1) } }) })
  const apart = row(time, {
    name: 'apart',
    setup: () => ({ ours: (n: number) => loops[2]!(n), peers: { peer: (n: number) => loops[2]!(n) } }),
  })
  const options = { plan, clock: time.clock }
  await runSuite({ package: 'x', rows: [shared, apart] }, options, (report) => void reports.push(report))
  const warnings = reports.filter(({ kind }) => kind === 'warning')
  expect(warnings).toMatchObject([
    { message: expect.stringMatching(/^shared \(peer\) and shared \(ours\) come from one/) },
  ])
})

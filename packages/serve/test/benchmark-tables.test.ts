import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkGoals } from '../bench/goals.ts'
import type { Result, Row } from '../bench/result.ts'
import { capacityTables } from '../bench/capacity-tables.ts'
import { fillTables } from '../bench/tables.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/benchmarks.md'), 'utf8')
const same = (median: number): Row['p50'] => ({ median, low: median, high: median })

function row(comparison: string, server: string, processor: number, plan: { clients: number; rate?: number }): Row {
  const ratios = { processor: same(processor), requestsPerSecond: same(6), p50: same(1), p99: same(1) }
  const [requestsPerSecond, p50, p99] = [same(12_345.6), same(0.5), same(1.5)]
  return { comparison, server, ...plan, processor: same(1000 * processor), requestsPerSecond, p50, p99, ratios }
}

const rates = {
  'http 4 KiB': [32, 2000],
  'http 1 MiB': [8, 100],
  'grpc 4 KiB': [32, 2000],
  'grpc 1 MiB': [4, 50],
} as const
const rows = [
  ...Object.entries(rates).flatMap(([comparison, [clients, rate]]) =>
    ['echo of the same bytes', 'tenon', 'tenon, isolated kernel'].flatMap((server, i) => [
      row(comparison, server, 1 + 0.3 * i, { clients, rate }),
      row(comparison, server, 1 + 0.3 * i, { clients }),
    ]),
  ),
  ...['no batches', 'batches of up to 32'].flatMap((server) =>
    [1, 32].map((clients) => row('batches', server, 1, { clients })),
  ),
  ...['one worker', 'two workers'].map((server) => row('workers', server, 1, { clients: 8 })),
]
const result: Result = {
  date: '2026-01-02',
  node: 'v24.1.0',
  machine: { cpu: 'Some CPU', cores: 2, memoryBytes: 2 ** 34, platform: 'linux-x64', kernel: '6.1', load: 0.25 },
  fastapi: 'FastAPI 1.0',
  starts: 3,
  rounds: 2,
  seconds: 0.8,
  rows,
  goals: checkGoals(rows),
}

describe('the tables of serving in the page of benchmarks', () => {
  test('are those of a run', () => {
    const filled = fillTables(page, result)
    expect(filled).toContain(
      'one run on 2026-01-02: 2 virtual cores (Some CPU), 16 GiB of memory, Linux 6.1,\nNode.js 24.1.0',
    )
    expect(filled).toMatch(/\| tenon +\| 1,300 µs +\| 1\.30 \(1\.30 – 1\.30\) +\| 0\.50 ms \| 1\.5 ms \| 12,346 +\|/)
    expect(filled).toMatch(/\| clients \| no batches \| batches of up to 32 \|/)
    expect(filled).toMatch(/\| two workers \| 12,346 +\| 6\.00 \(6\.00 – 6\.00\) +\| 0\.5 ms +\| 1\.5 ms +\|/)
    expect(filled).toMatch(/\| gRPC, 1 MiB: .+ \| at most 1\.2 +\| 1\.30 +\| missed \|/)
    expect(fillTables(filled, result)).toBe(filled)
    expect(filled.split('\n\n').length).toBe(page.split('\n\n').length)
  })

  test('need their places, and rows', () => {
    expect(() => fillTables('', result)).toThrow('must have the comment <!-- serving: machine -->')
    const others = rows.filter(({ comparison }) => comparison !== 'grpc 1 MiB')
    expect(() => fillTables(page, { ...result, rows: others })).toThrow('must have rows of grpc 1 MiB')
  })
})

test('the tables of the page of capacity are those of a run, with the arithmetic of an example', () => {
  const capacityPage = readFileSync(join(import.meta.dirname, '../../../docs/serving-capacity.md'), 'utf8')
  const of = (median: number) => ({ median, low: median, high: median })
  const filled = capacityTables(capacityPage, {
    date: '2026-01-02',
    node: 'v24.1.0',
    machine: result.machine,
    rounds: 5,
    seconds: 2,
    kernelTime: 2000,
    processor: ['HTTP, a function', 'HTTP, a kernel'].flatMap((title) =>
      ['4 KiB', '64 KiB'].map((size) => ({ title, size, processor: of(1000) })),
    ),
    throughput: [{ processors: 1, rate: of(480), processor: of(2083) }],
    memory: [
      { models: 0, server: 2 ** 26, workers: 0 },
      { models: 4, server: 2 ** 26, workers: 2 ** 22 },
    ],
  })
  expect(filled).toMatch(/\| HTTP, a kernel +\| 1,000 µs \(1,000-1,000\) \| 1,000 µs/)
  // 2,000 x 4 ms are 8 processors, which are 3.3 replicas of 2.4.
  expect(filled).toContain('2,000 × (1,000 µs + 3,000 µs) = 8.0 processors')
  expect(filled).toContain('8.0 / (4 × 0.6) = 4 replicas, and one more, so that one can be replaced or lost: 5.')
  expect(filled).toContain('that of the server (64.0 MiB), 1.0 MiB and the weights')
  expect(() => capacityTables('', {} as never)).toThrow('must have the comment <!-- capacity: machine -->')
})

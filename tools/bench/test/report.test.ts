import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { describeMachine } from '../../../packages/tenon/src/benchmark/machine.ts'
import { writeBenchReport, writeGrowthReport } from '../src/report.ts'
import { timeText } from '../src/units.ts'
import { versions } from '../src/versions.ts'

const origin = { machine: describeMachine(), versions: versions(), date: '2026-01-02T03:04:05.000Z' }

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'tenon-report-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return join(made, 'new')
}

/** The text without the spaces that align the columns of its tables. */
const cellsOf = (text: string): string => text.replaceAll(/ +/g, ' ')

test('the report of a benchmark has the machine, and each row beside its peers', () => {
  const result = {
    package: '@tenon/x',
    name: 'a | b',
    unit: 'ns',
    node: '24.0.0',
    ours: 50,
    peers: { koffi: 100 },
    ratios: { koffi: 0.5 },
    quartiles: { ours: [49, 51], peers: { koffi: [98, 102] }, ratios: { koffi: [0.48, 0.52] } },
    rounds: 9,
    plot: { name: 'latency', x: 1024 },
  } as const
  const target = directory()
  writeBenchReport(target, origin, [result])
  expect(JSON.parse(readFileSync(join(target, 'bench.json'), 'utf8'))).toEqual({ ...origin, results: [result] })
  const text = readFileSync(join(target, 'bench.md'), 'utf8')
  expect(text).toContain('on 2026-01-02')
  expect(text).toMatch(/^- Commit: [0-9a-f]{9}\+?$/m)
  expect(text).toContain(`node ${process.versions.node}`)
  expect(text).toContain('## @tenon/x')
  expect(text).toContain('](latency.svg)')
  const svg = readFileSync(join(target, 'latency.svg'), 'utf8')
  expect(svg).toContain('>Tenon</text>')
  expect(svg).toContain('>2026-01-02: ')
  expect(cellsOf(text)).toContain(String.raw`| a \| b | 24.0.0 | 50 ns | koffi: 100 ns | 0.50 (0.48 to 0.52) |`)
})

test('the report of growth has the exponents and a plot', () => {
  const points = [1, 10, 100].map((count) => ({ count, nanoseconds: 1000 * count, quartiles: [1, 1] as const }))
  const target = directory()
  writeGrowthReport(target, origin, [{ package: '@tenon/x', name: 'things', points, exponent: 1, reason: 'why' }])
  const text = readFileSync(join(target, 'growth.md'), 'utf8')
  expect(cellsOf(text)).toContain('| @tenon/x | things | 1: 1.00 us, 10: 10.0 us, 100: 100 us | 1.00 | why |')
  expect(readFileSync(join(target, 'growth.svg'), 'utf8')).toMatch(/<polyline points="[\d., ]+"/)
})

test('times have the unit in which they are short', () => {
  expect([5, 1500, 2.5e6].map(timeText)).toEqual(['5 ns', '1.50 us', '2.50 ms'])
})

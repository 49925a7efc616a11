import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { compareCheckouts, formatComparison, type Comparison } from '../src/compare-checkouts.ts'
import type { Plan } from '../src/measure.ts'

const plan: Plan = { warmup: 2e7, batch: 2e5, rounds: 9, processes: 1, budget: 1e11 }

let directory: string
let [own, other]: [string, string] = ['', '']
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-checkouts-'))
  own = checkout('own', { loop: 8192, steady: 4096, 'only here': 1 })
  other = checkout('other', { loop: 256, steady: 4096 })
  writeFileSync(join(own, 'packages/x/bench/new.bench.ts'), 'export const suite = { package: "x", rows: [] }')
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A checkout with one bench file, whose rows are loops of the given lengths. */
function checkout(name: string, rows: Readonly<Record<string, number>>): string {
  const path = join(directory, name)
  mkdirSync(join(path, 'packages/x/bench'), { recursive: true })
  const texts = Object.entries(rows).map(
    ([row, length]) =>
      `{ name: '${row}', unit: 'ns', setup: () => ({ ours: () => sum(${length}), peers: { nothing: () => 0 } }) }`,
  )
  writeFileSync(
    join(path, 'packages/x/bench/loops.bench.ts'),
    `const values = Float64Array.from({ length: 8192 }, (_, i) => i)
function sum(length) {
  let total = 0
  for (let i = 0; i < length; i++) total += values[i]
  return total
}
export const suite = { package: '@tenon/x', rows: [${texts.join(',')}] }
`,
  )
  return path
}

const compare = (from: string, to: string, talk: string[] = []): Promise<Comparison> =>
  compareCheckouts({
    files: globSync(join(to, 'packages/x/bench/*.bench.ts')).toSorted(),
    own: to,
    other: from,
    node: process.execPath,
    plan,
    fromSource: true,
    progress: (line) => void talk.push(line),
  })

test('a row that became slower is measured twice and named, and others are not', async () => {
  const talk: string[] = []
  const result = await compare(other, own, talk)
  expect(result.failures).toEqual([])
  const loop = result.changes.find(({ name }) => name === 'loop')!
  expect(loop.verdict).toBe('slower')
  expect(loop.ratio.median).toBeGreaterThan(2)
  expect(talk.some((line) => line.startsWith('  measuring again: loop'))).toBe(true)
  expect(result.unmatched).toEqual([
    expect.stringMatching(/loops\.bench\.ts: only here$/),
    expect.stringMatching(/new\.bench\.ts$/),
  ])
  const text = formatComparison(result)
  expect(text).toContain('slower: @tenon/x: loop, x')
  expect(text).toMatch(/^@tenon\/x: loop +[\d.]+ \w+ +[\d.]+ \w+ +x[\d.]+ \([\d.]+ to [\d.]+\) +slower$/m)
  expect(text).toContain('only in one checkout: ')
})

test('a row that became faster is named', async () => {
  const { changes } = await compare(own, other)
  expect(changes.find(({ name }) => name === 'loop')!.verdict).toBe('faster')
})

test('a crash is a failure, which names the file', async () => {
  const crash = join(import.meta.dirname, 'fixture/crash.bench.ts')
  const root = join(import.meta.dirname, '../../..')
  const result = await compareCheckouts({
    files: [crash],
    other: root,
    node: process.execPath,
    plan,
    fromSource: true,
    progress: () => {},
  })
  expect(result.changes).toEqual([])
  expect(result.failures).toEqual([expect.stringMatching(/crash\.bench\.ts ended with SIGKILL$/)])
})

test('the command refuses what is not a checkout, and options that do not fit', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../src/cli.ts'), '--source', ...args], { encoding: 'utf8' })
  expect(run('--against', tmpdir())).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('is not a checkout') as string,
  })
  expect(run('--against', '.', '--check')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('cannot be used with --check') as string,
  })
})

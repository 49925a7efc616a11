import { join } from 'node:path'

import { expect, test } from 'vitest'

import type { Plan } from '../src/measure.ts'
import type { RowResult } from '../src/result.ts'
import { runBench, type BenchOptions, type BenchOutcome } from '../src/run-bench.ts'

const plan: Plan = { warmup: 2e6, batch: 2e5, rounds: 7, processes: 2, budget: 1e11 }

function fixture(name: string): string {
  return join(import.meta.dirname, 'fixture', `${name}.bench.ts`)
}

async function run(file: string, changes: Partial<BenchOptions> = {}): Promise<BenchOutcome & { talk: string[] }> {
  const talk: string[] = []
  const outcome = await runBench({
    files: [fixture(file)],
    nodes: [process.execPath],
    plan,
    fromSource: true,
    check: false,
    progress: (line) => void talk.push(line),
    ...changes,
  })
  return { ...outcome, talk }
}

test('runBench() measures each bench file in its own processes', async () => {
  const files: (readonly RowResult[])[] = []
  const { results, failures, misses } = await run('work', { onFile: (ofFile) => void files.push(ofFile) })
  expect(failures).toEqual([])
  expect(misses).toEqual([])
  expect(results.map(({ package: owner, name, node, rounds }) => ({ owner, name, node, rounds }))).toEqual(
    ['sum all', 'sum a part', 'the state before any row'].map((name) => ({
      owner: '@tenon/fixture',
      name,
      node: process.versions.node,
      rounds: 14,
    })),
  )
  expect(results[0]!.ratios['sum a part']).toBeGreaterThan(4)
  expect(results[1]!.ratios['sum all']).toBeLessThan(0.25)
  expect(files).toEqual([results])
})

test('a missed target is measured again before it counts', async () => {
  const { misses, talk } = await run('work', { check: true, rows: ['sum'] })
  expect(misses).toHaveLength(1)
  expect(misses[0]).toMatch(/^@tenon\/fixture: sum all on Node [\d.]+ is [\d.]+ of sum a part, wanted at most 2$/)
  expect(talk.filter((line) => line.includes('measuring again'))).toEqual([
    '  measuring again (1 of 2): sum all',
    '  measuring again (2 of 2): sum all',
  ])
})

test('a crash of the process is a failure with the name of the file', async () => {
  const { results, failures } = await run('crash')
  expect(results).toEqual([])
  expect(failures).toEqual([expect.stringMatching(/crash\.bench\.ts ended with SIGKILL$/)])
})

test('a file without a suite is a failure', async () => {
  const { failures } = await run('empty')
  expect(failures).toEqual([expect.stringMatching(/empty\.bench\.ts ended with exit code 1$/)])
})

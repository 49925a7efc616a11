import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

import { expect, test } from 'vitest'

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(import.meta.dirname, '../src/cli.ts'), ...args], { encoding: 'utf8' })
}

test('--json prints one document on stdout and nothing else', () => {
  const { status, stdout, stderr } = bench('--probe', '--quick', '--json', '--row', 'lock one segment')
  expect(stderr).toContain('memory.bench.ts')
  expect(status).toBe(0)
  const { machine, date, results } = JSON.parse(stdout) as Record<string, unknown>
  expect(machine).toMatchObject({
    cpu: expect.any(String),
    cores: expect.any(Number),
    platform: `${process.platform}-${process.arch}`,
  })
  expect(new Date(date as string).toISOString()).toBe(date)
  expect(results).toEqual([
    expect.objectContaining({
      package: '@tenon/bench',
      name: 'lock one segment',
      unit: 'ns',
      node: process.versions.node,
      ours: expect.any(Number),
      peers: { 'a closure': expect.any(Number), 'an object to release': expect.any(Number) },
      ratios: { 'a closure': expect.any(Number), 'an object to release': expect.any(Number) },
    }),
  ])
})

test('without --json it prints a table', () => {
  const { status, stdout } = bench('--probe', '--quick', '--row', 'lock one segment')
  expect(status).toBe(0)
  expect(stdout).toMatch(/^@tenon\/bench +Node [\d.]+\n {2}lock one segment +[\d.]+ ns ±\d+%\n/)
})

test('no row to measure is a failure', () => {
  expect(bench('--probe', '--row', 'no such row')).toMatchObject({ status: 1, stdout: '' })
})

test('what it does not know is a usage error', () => {
  expect(bench('--fast')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining("'--fast'") })
  expect(bench('--node', '20')).toMatchObject({ status: 2, stderr: expect.stringContaining('22, 24, 26') })
})

test('--help explains every option', () => {
  const { status, stdout } = bench('--help')
  expect(status).toBe(0)
  for (const option of ['--filter', '--row', '--quick', '--check', '--node', '--json', '--source', '--probe']) {
    expect(stdout).toContain(option)
  }
})

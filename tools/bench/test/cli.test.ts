import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

import { findRuntime, testedRuntimes, testedVersion } from '@tenon/config/runtimes'
import { expect, test } from 'vitest'

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(import.meta.dirname, '../src/cli.ts'), ...args], { encoding: 'utf8' })
}

const fixture = join(import.meta.dirname, 'fixture/work.bench.ts')
const quick = ['--source', '--quick', fixture]

test('--json prints one document to stdout', () => {
  const { status, stdout, stderr } = bench(...quick, '--json', '--row', 'sum a part')
  expect(stderr).toContain('work.bench.ts')
  expect(status).toBe(0)
  const { machine, versions, date, results } = JSON.parse(stdout) as Record<string, unknown>
  expect(machine).toMatchObject({
    cpu: expect.any(String),
    cores: expect.any(Number),
    platform: `${process.platform}-${process.arch}`,
  })
  expect(versions).toMatchObject({ node: process.versions.node, koffi: expect.stringMatching(/^\d+\./) })
  expect(new Date(date as string).toISOString()).toBe(date)
  expect(results).toEqual([
    expect.objectContaining({
      package: '@tenon/fixture',
      name: 'sum a part',
      unit: 'ns',
      node: process.versions.node,
      ours: expect.any(Number),
      peers: { 'sum all': expect.any(Number) },
      ratios: { 'sum all': expect.any(Number) },
    }),
  ])
})

test('prints a table without --json', () => {
  const { status, stdout } = bench(...quick, '--row', 'sum a part')
  expect(status).toBe(0)
  expect(stdout).toMatch(/^@tenon\/fixture +Node [\d.]+\n {2}sum a part +[\d.]+ ns ±\d+%\n/)
})

test('exits with 1 if no row matches, and --plots leaves out files that are not of a plot', () => {
  expect(bench(...quick, '--plots')).toMatchObject({ status: 1, stdout: '' })
  expect(bench(...quick, '--row', 'no such row')).toMatchObject({ status: 1, stdout: '' })
})

test('exits with 2 for unknown options and versions', () => {
  expect(bench('--fast')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining("'--fast'") })
  expect(bench('--node', '20')).toMatchObject({ status: 2, stderr: expect.stringContaining('22, 24, 26') })
})

test('--help explains every option', () => {
  const { status, stdout } = bench('--help')
  expect(status).toBe(0)
  for (const option of ['--filter', '--row', '--quick', '--plots', '--check', '--node', '--json', '--source']) {
    expect(stdout).toContain(option)
  }
})

test('--runtime is the name of a runtime, and takes no version of Node.js', () => {
  expect(bench(...quick, '--runtime', 'node')).toMatchObject({
    status: 2,
    stderr: '--runtime must be one of bun, deno, got node\n',
  })
  expect(bench(...quick, '--runtime', 'bun', '--node', '24')).toMatchObject({
    status: 2,
    stderr: '--runtime cannot be used with --node\n',
  })
})

for (const runtime of testedRuntimes) {
  if (findRuntime(runtime) === undefined) continue

  test(`--runtime ${runtime} measures in that runtime`, { timeout: 60_000 }, () => {
    const { status, stdout } = bench(...quick, '--row', 'sum a part', '--runtime', runtime)
    expect(status).toBe(0)
    expect(stdout).toMatch(new RegExp(`^@tenon/fixture +${runtime} ${testedVersion(runtime)}$`, 'im'))
  })
}

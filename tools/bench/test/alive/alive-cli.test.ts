import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AliveResult } from '../../src/alive/alive-result.ts'

const cli = join(import.meta.dirname, '../../src/alive-cli.ts')
const fixture = join(import.meta.dirname, '../fixture/alive.ts')

function alive(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [cli, '--source', '--rounds', '1', ...args], { encoding: 'utf8' })
}

test('--json prints one document with the figures of each count', () => {
  const { status, stdout, stderr } = alive('--json', '--row', 'steady', '--counts', '1,10000', fixture)
  expect(stderr).toContain('10,000 alive')
  const { machine, results } = JSON.parse(stdout) as { machine: unknown; results: AliveResult[] }
  expect(machine).toMatchObject({ cpu: expect.any(String) })
  expect(results).toMatchObject([
    {
      package: '@tenon/fixture',
      name: 'steady',
      runtime: `Node ${process.versions.node}`,
      counts: [
        { alive: 1, processes: 1 },
        { alive: 10_000, memory: { heap: { median: expect.any(Number) } } },
      ],
    },
  ])
  // An object has at least two words. The collector may have freed some of the code meanwhile.
  expect(results[0]!.counts[1]!.memory!.heap.median).toBeGreaterThan(10)
  // A machine under load may let the row grow, which is what the exit code says.
  expect(status).toBe(stderr.includes('grows: ') ? 1 : 0)
})

test('exits with 1 and names the rows that grow', () => {
  const { status, stdout, stderr } = alive('--row', 'growing', '--counts', '1,1000,10000', fixture)
  expect(stderr).toMatch(
    /grows: @tenon\/fixture: growing on Node [\d.]+: the time must grow with an exponent of at most 1\.1/,
  )
  expect(stdout).toMatch(/^@tenon\/fixture, Node [\d.]+ +1 alive +1,000 alive +growth\n {2}growing /)
  expect(status).toBe(1)
})

test('exits with 1 and names the rows that fail', () => {
  const { status, stderr } = alive('--row', 'failing', '--counts', '1', fixture)
  expect(stderr).toContain('no memory')
  expect(stderr).toContain('failing with 1 alive ended with exit code 1')
  expect(status).toBe(1)
})

test('exits with 1 if no row matches', () => {
  expect(alive('--row', 'nothing', fixture)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('no row matches'),
  })
})

test('exits with 1 and says how to install NumPy if the Python does not have it', () => {
  const { status, stderr } = alive('--numpy', '--python', '/nonexistent/python3', fixture)
  expect(stderr).toContain('NumPy must be installed for /nonexistent/python3')
  expect(stderr).toContain('apt-get install python3-numpy')
  expect(status).toBe(1)
})

test.for([
  [['--fast'], "'--fast'"],
  [['--counts', '1,x'], '--counts must be a positive integer, got x.'],
  [['--counts', ''], '--counts must be a positive integer, got .'],
  [['--rounds', '0'], '--rounds must be a positive integer, got 0.'],
  [['--node', '20'], '22, 24, 26'],
] as const)('exits with 2 for %j', ([args, message]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' })
  expect(stderr).toContain(message)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
})

test('--help explains every option', () => {
  const { stdout } = alive('--help')
  for (const option of [
    '--filter',
    '--row',
    '--counts',
    '--rounds',
    '--quick',
    '--check',
    '--node',
    '--python',
    '--json',
    '--built',
    '--source',
  ]) {
    expect(stdout).toContain(option)
  }
})

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { leftOutFile, type LeftOutTest } from '../src/mutation/messages.ts'
import { CACHE } from '../src/mutation/mutant-test-runner.ts'
import { type MutantResult, readResults, type StrykerReport } from '../src/mutation/results.ts'
import { strykerOptions } from '../src/mutation/stryker-options.ts'

const SOURCES = {
  'package.json': JSON.stringify({ name: 'limits', type: 'module' }),
  'vitest.config.ts': `export { default } from '@tenon/config/vitest'\n`,
  'src/limits.ts': `
const LARGEST = Math.max(8, 4)
export function fits(size: number): boolean {
  return size <= LARGEST
}
export function isSmall(size: number): boolean {
  return size < 3
}
export function count(to: number): number {
  let n = 0
  while (n < to) n++
  return n
}
let saved: number[] | undefined
export function primes(): number[] {
  return (saved ??= [2, 3])
}
export function endProcess(isWrong: boolean): void {
  if (isWrong) process.kill(process.pid, 'SIGKILL')
}
let isBroken = false
export function pay(coins: number): number {
  isBroken = isBroken || coins < 0
  if (isBroken) throw new RangeError('broken', { cause: coins + 1 })
  return coins
}
export function add(names: string[], name: string): number {
  names.push(name)
  names.sort()
  return names.length
}
export function unused(a: number): number {
  return a + 1
}
`,
  'test/limits.test.ts': `
import { expect, test } from 'vitest'
import { add, count, endProcess, fits, isSmall, pay, primes } from '../src/limits.ts'
test('fits', () => expect([fits(8), fits(9)]).toEqual([true, false]))
test('is small', () => expect([isSmall(1), isSmall(5)]).toEqual([true, false]))
test('counts', () => expect(count(3)).toBe(3))
test('primes', () => expect(primes()).toEqual([2, 3]))
test('ends no process', () => endProcess(false))
test('pays', () => expect(pay(2)).toBe(2))
test('pays nothing', () => expect(pay(0)).toBe(0))
test('adds', () => expect(add([], 'a')).toBe(1))
test('takes long', () => {
  for (let end = process.cpuUsage().user + 1.2e6; process.cpuUsage().user < end; ) count(1)
})
const shared = globalThis as { runs?: number }
test('works only once', () => expect((shared.runs = (shared.runs ?? 0) + 1)).toBe(1))
`,
}

let folder: string
let results: readonly MutantResult[]
let leftOut: readonly LeftOutTest[]

/** Runs Stryker on the sources above. */
beforeAll(async () => {
  const reports = join(import.meta.dirname, '../reports')
  mkdirSync(reports, { recursive: true })
  folder = mkdtempSync(join(reports, 'mutants-'))
  for (const [name, text] of Object.entries(SOURCES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const script = join(import.meta.dirname, '../src/mutation/run-stryker.ts')
  const options = JSON.stringify(strykerOptions(['src/**/*.ts'], folder, 1))
  await promisify(execFile)(process.execPath, [script, options], {
    cwd: folder,
    env: { ...process.env, [CACHE]: folder },
  })
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  results = readResults(read('incremental.json') as StrykerReport, 'limits')
  leftOut = read(leftOutFile('')) as LeftOutTest[]
}, 300_000)

afterAll(() => rmSync(folder, { recursive: true }))

const outcomeOf = (code: string, mutant: string): string | undefined =>
  results.find((result) => result.code === code && result.mutant === mutant)?.outcome

test('a mutant is killed if a test fails with it, and survives if all tests pass', () => {
  expect(outcomeOf('size <= LARGEST', 'size < LARGEST')).toBe('killed')
  expect(outcomeOf('size < 3', 'size <= 3')).toBe('survived')
  expect(outcomeOf('coins < 0', 'coins <= 0')).toBe('killed')
})

test('a mutant that no test runs is not covered, and one that only loads is not measured', () => {
  expect(outcomeOf('a + 1', 'a - 1')).toBe('no coverage')
  expect(outcomeOf('Math.max(8, 4)', 'Math.min(8, 4)')).toBe('at load')
})

test('an endless loop is a timeout', () => {
  expect(outcomeOf('n++', 'n--')).toBe('timeout')
})

test('a mutant that ends the process is killed, and the next mutants are measured', () => {
  expect(outcomeOf('isWrong', 'true')).toBe('killed')
  expect(outcomeOf('isWrong', 'false')).toBe('survived')
})

test('a result that the process keeps is computed again for a mutant of it', () => {
  expect(outcomeOf('[2, 3]', '[]')).toBe('killed')
})

test('what a mutant leaves in the process kills no other mutant', () => {
  expect(outcomeOf('isBroken || coins < 0', 'true')).toBe('killed')
  expect(outcomeOf('isBroken', 'false')).toBe('survived')
})

test('a call that changes something is removed', () => {
  expect(outcomeOf('names.push(name)', ';')).toBe('killed')
  expect(outcomeOf('names.sort()', 'names')).toBe('survived')
})

test('strings and the arguments of errors are not changed', () => {
  expect(results.filter(({ code }) => /^(?:'|\{ cause|coins \+)/.test(code))).toEqual([])
})

test('a test that fails when it runs again, or takes long, is left out', () => {
  expect(leftOut).toEqual([
    { test: 'test/limits.test.ts#takes long', reason: 'is slow' },
    { test: 'test/limits.test.ts#works only once', reason: 'fails when it runs again' },
  ])
})

test('the sources are as before', () => {
  expect(readFileSync(join(folder, 'src/limits.ts'), 'utf8')).toBe(SOURCES['src/limits.ts'])
})

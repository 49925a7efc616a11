import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { onTestFinished, test, expect } from 'vitest'

import { addSummaries, explainExitCode, readReport } from '../src/lib/reports.ts'

interface FakeTest {
  fullName: string
  status: string
  failureMessages: string[]
}

function read(report: unknown): ReturnType<typeof readReport> {
  const directory = mkdtempSync(join(tmpdir(), 'reports-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'report.json'), JSON.stringify(report))
  return readReport(join(directory, 'report.json'), 'pkg')
}

function vitest(tests: FakeTest[], file: { status?: string; message?: string } = {}, success = true): unknown {
  return {
    success,
    testResults: [{ name: 'a.test.ts', status: 'passed', message: '', ...file, assertionResults: tests }],
  }
}

const passed: FakeTest = { fullName: 'good', status: 'passed', failureMessages: [] }

test('counts passed and failed tests, and names failures with the first line of the reason', () => {
  const failed = { fullName: 'bad', status: 'failed', failureMessages: ['Error: 1 is not 2\n    at x.ts:1'] }
  expect(read(vitest([passed, failed], { status: 'failed' }, false))).toEqual({
    passed: 1,
    failed: 1,
    failures: ['pkg: bad: Error: 1 is not 2'],
  })
})

test('counts skipped and unwritten tests as failed', () => {
  const skipped = ['skipped', 'todo'].map((status) => ({ fullName: status, status, failureMessages: [] }))
  expect(read(vitest([passed, ...skipped]))).toEqual({
    passed: 1,
    failed: 2,
    failures: ['pkg: skipped: its status is skipped', 'pkg: todo: its status is todo'],
  })
})

test('counts the remaining tests of a file whose process died as failed', () => {
  const pending = { fullName: 'b', status: 'pending', failureMessages: [] }
  expect(read(vitest([passed, pending, pending], { status: 'failed' }, false))).toEqual({
    passed: 1,
    failed: 2,
    failures: ['pkg: a.test.ts: the process ended before 2 of its tests'],
  })
})

test('counts a file that could not be loaded as failed', () => {
  const report = vitest([], { status: 'failed', message: 'SyntaxError: no\nmore' }, false)
  expect(read(report)).toEqual({ passed: 0, failed: 1, failures: ['pkg: a.test.ts: SyntaxError: no'] })
})

test('counts an error outside of tests, no tests, and a missing report as failures', () => {
  expect(read(vitest([passed], {}, false)).failures).toEqual(['pkg: an error occurred outside of the tests'])
  expect(read({ success: true, testResults: [] }).failures).toEqual(['pkg: there are no tests'])
  expect(readReport('/nowhere/report.json', 'pkg').failures).toEqual([
    'pkg: no report, because the task did not finish',
  ])
})

test('reads the report of tenon-test', () => {
  const tests = [
    { name: 'p > a', ok: true },
    { name: 'p > b', ok: false, message: 'why' },
  ]
  expect(read({ passed: 1, failed: 1, tests })).toEqual({
    passed: 1,
    failed: 1,
    failures: ['pkg: p > b: why'],
  })
})

test('adds up summaries, and counts an unexplained exit code as a failure', () => {
  const one = { passed: 2, failed: 0, failures: [] }
  expect(addSummaries([one, one])).toEqual({ passed: 4, failed: 0, failures: [] })
  expect(explainExitCode(one, 0, 'turbo')).toEqual(one)
  expect(explainExitCode(one, 3, 'turbo').failures).toEqual(['turbo ended with exit code 3'])
  const explained = { passed: 2, failed: 1, failures: ['why'] }
  expect(explainExitCode(explained, 3, 'turbo')).toEqual(explained)
})

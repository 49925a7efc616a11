import { existsSync, readFileSync } from 'node:fs'

import type { NativeReport } from '@tenon/native-build'

/** How many tests passed, and what is wrong with each of the others. */
export interface TestSummary {
  readonly passed: number
  /** A line each: the test's name and the reason. */
  readonly failures: readonly string[]
}

/** The part that matters of vitest's JSON report. */
interface VitestReport {
  readonly success: boolean
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/** Reads the report of a package's test task; its absence is a failure. */
export function readReport(path: string, label: string): TestSummary {
  if (!existsSync(path)) return { passed: 0, failures: [`${label}: no report: the task did not run to its end`] }
  const report = JSON.parse(readFileSync(path, 'utf8')) as VitestReport | NativeReport
  return 'testResults' in report ? summarizeVitest(report, label) : summarizeNative(report, label)
}

function summarizeNative(report: NativeReport, label: string): TestSummary {
  const failures = report.tests.filter((test) => !test.ok).map((test) => `${label}: ${test.name}: ${test.message}`)
  return { passed: report.passed, failures }
}

/** Nothing may be skipped: a test that has not passed has failed, and so has a file that could not run. */
function summarizeVitest(report: VitestReport, label: string): TestSummary {
  let passed = 0
  const failures: string[] = []
  for (const file of report.testResults) {
    const before = failures.length
    for (const test of file.assertionResults) {
      const reason = test.status === 'failed' ? firstLine(test.failureMessages[0]) : `it is ${test.status}, not run`
      if (test.status === 'passed') passed++
      else failures.push(`${label}: ${test.fullName}: ${reason}`)
    }
    if (file.status === 'failed' && failures.length === before) {
      failures.push(`${label}: ${file.name}: ${firstLine(file.message)}`)
    }
  }
  if (passed === 0 && failures.length === 0) failures.push(`${label}: there are no tests`)
  if (!report.success && failures.length === 0) failures.push(`${label}: an error outside of the tests`)
  return { passed, failures }
}

function firstLine(message: string | undefined): string {
  return message?.split('\n')[0] || 'failed'
}

/** Adds summaries up. */
export function addSummaries(summaries: readonly TestSummary[]): TestSummary {
  return {
    passed: summaries.reduce((sum, summary) => sum + summary.passed, 0),
    failures: summaries.flatMap((summary) => summary.failures),
  }
}

/** Prints the failures, then `N passed, N failed` as the last line, and sets the exit code. */
export function printSummary({ passed, failures }: TestSummary): void {
  if (failures.length > 0) {
    process.stdout.write(`\nFailures:\n${failures.map((failure) => `  ${failure}\n`).join('')}`)
    process.exitCode = 1
  }
  process.stdout.write(`\n${passed} passed, ${failures.length} failed\n`)
}

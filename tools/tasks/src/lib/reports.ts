import { existsSync, readFileSync } from 'node:fs'

import type { NativeReport } from '@tenon/build'

/** How the tests of something went. */
export interface TestSummary {
  readonly passed: number
  readonly failed: number
  /** What failed and why, a line each; one line may speak for many tests. */
  readonly failures: readonly string[]
}

/** The part that matters of vitest's JSON report. */
interface VitestReport {
  readonly success: boolean
  readonly testResults: readonly VitestFile[]
}

interface VitestFile {
  readonly name: string
  readonly status: string
  readonly message: string
  /** `pending` is a test that had not run when the file's process died. */
  readonly assertionResults: readonly {
    readonly fullName: string
    readonly status: string
    readonly failureMessages: readonly string[]
  }[]
}

/** Reads the report of a package's test task; its absence is a failure. */
export function readReport(path: string, label: string): TestSummary {
  if (!existsSync(path)) return failure(`${label}: no report: the task did not run to its end`)
  const report = JSON.parse(readFileSync(path, 'utf8')) as VitestReport | NativeReport
  return 'testResults' in report ? summarizeVitest(report, label) : summarizeNative(report, label)
}

function failure(reason: string): TestSummary {
  return { passed: 0, failed: 1, failures: [reason] }
}

function summarizeNative({ passed, failed, tests }: NativeReport, label: string): TestSummary {
  const failures = tests.filter((test) => !test.ok).map((test) => `${label}: ${test.name}: ${test.message}`)
  return { passed, failed, failures }
}

/** Nothing may be skipped: a test that has not passed has failed, and so has a file that could not run. */
function summarizeVitest(report: VitestReport, label: string): TestSummary {
  const sum = addSummaries(report.testResults.map((file) => summarizeFile(file, label)))
  if (sum.passed + sum.failed === 0) return failure(`${label}: there are no tests`)
  if (!report.success && sum.failed === 0)
    return addSummaries([sum, failure(`${label}: an error outside of the tests`)])
  return sum
}

function summarizeFile({ name, status, message, assertionResults }: VitestFile, label: string): TestSummary {
  const passed = assertionResults.filter((test) => test.status === 'passed').length
  const pending = assertionResults.filter((test) => test.status === 'pending').length
  const failures = assertionResults
    .filter((test) => test.status !== 'passed' && test.status !== 'pending')
    .map((test) => `${label}: ${test.fullName}: ${firstLine(test.failureMessages[0]) ?? `it is ${test.status}`}`)
  if (pending > 0) failures.push(`${label}: ${name}: it ended before ${pending} of its tests`)
  else if (status === 'failed' && failures.length === 0)
    failures.push(`${label}: ${name}: ${firstLine(message) ?? 'failed'}`)
  return { passed, failed: Math.max(assertionResults.length - passed, failures.length), failures }
}

function firstLine(message: string | undefined): string | undefined {
  return message?.split('\n')[0] || undefined
}

/** Adds summaries up. */
export function addSummaries(summaries: readonly TestSummary[]): TestSummary {
  return {
    passed: summaries.reduce((sum, summary) => sum + summary.passed, 0),
    failed: summaries.reduce((sum, summary) => sum + summary.failed, 0),
    failures: summaries.flatMap((summary) => summary.failures),
  }
}

/** A run that ended badly although nothing in its reports failed is a failure as well. */
export function explainExitCode(summary: TestSummary, code: number, what: string): TestSummary {
  if (code === 0 || summary.failed > 0) return summary
  return addSummaries([summary, failure(`${what} ended with exit code ${code}`)])
}

/** Prints the failures, then `N passed, N failed` as the last line, and sets the exit code. */
export function printSummary({ passed, failed, failures }: TestSummary): void {
  if (failures.length > 0) process.stdout.write(`\nFailures:\n${failures.map((line) => `  ${line}\n`).join('')}`)
  if (failed > 0) process.exitCode = 1
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
}

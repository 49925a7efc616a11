import { existsSync, readFileSync } from 'node:fs'

import type { NativeReport } from '@tenon/build/internal'

export interface TestSummary {
  readonly passed: number
  readonly failed: number
  /** A line for each failure with its reason. One line may describe several tests. */
  readonly failures: readonly string[]
}

interface VitestReport {
  readonly success: boolean
  readonly testResults: readonly VitestFile[]
}

interface VitestFile {
  readonly name: string
  readonly status: string
  readonly message: string
  /** A test is `pending` if the process died before it ran. */
  readonly assertionResults: readonly {
    readonly fullName: string
    readonly status: string
    readonly failureMessages: readonly string[]
  }[]
}

/** A missing report is a failure. */
export function readReport(path: string, label: string): TestSummary {
  if (!existsSync(path)) return failure(`${label}: no report, because the task did not finish`)
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

/** Counts every test that has not passed as failed, also if it was skipped, and every file that could not run. */
function summarizeVitest(report: VitestReport, label: string): TestSummary {
  const sum = addSummaries(report.testResults.map((file) => summarizeFile(file, label)))
  if (sum.passed + sum.failed === 0) return failure(`${label}: there are no tests`)
  if (!report.success && sum.failed === 0)
    return addSummaries([sum, failure(`${label}: an error occurred outside of the tests`)])
  return sum
}

function summarizeFile({ name, status, message, assertionResults }: VitestFile, label: string): TestSummary {
  const passed = assertionResults.filter((test) => test.status === 'passed').length
  const pending = assertionResults.filter((test) => test.status === 'pending').length
  const failures = assertionResults
    .filter((test) => test.status !== 'passed' && test.status !== 'pending')
    .map(
      (test) => `${label}: ${test.fullName}: ${firstLine(test.failureMessages[0]) ?? `its status is ${test.status}`}`,
    )
  if (pending > 0) failures.push(`${label}: ${name}: the process ended before ${pending} of its tests`)
  else if (status === 'failed' && failures.length === 0)
    failures.push(`${label}: ${name}: ${firstLine(message) ?? 'failed'}`)
  return { passed, failed: Math.max(assertionResults.length - passed, failures.length), failures }
}

function firstLine(message: string | undefined): string | undefined {
  return message?.split('\n')[0] || undefined
}

export function addSummaries(summaries: readonly TestSummary[]): TestSummary {
  return {
    passed: summaries.reduce((sum, summary) => sum + summary.passed, 0),
    failed: summaries.reduce((sum, summary) => sum + summary.failed, 0),
    failures: summaries.flatMap((summary) => summary.failures),
  }
}

/** Adds a failure if a run failed although its reports contain no failure. */
export function explainExitCode(summary: TestSummary, code: number, what: string): TestSummary {
  if (code === 0 || summary.failed > 0) return summary
  return addSummaries([summary, failure(`${what} ended with exit code ${code}`)])
}

export function printCounts(summary: TestSummary, label: string): TestSummary {
  process.stdout.write(`${label}: ${summary.passed} passed, ${summary.failed} failed\n`)
  return summary
}

/** Prints the failures, then `N passed, N failed` as the last line, and sets the exit code. */
export function printSummary({ passed, failed, failures }: TestSummary): void {
  if (failures.length > 0) process.stdout.write(`\nFailures:\n${failures.map((line) => `  ${line}\n`).join('')}`)
  if (failed > 0) process.exitCode = 1
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
}

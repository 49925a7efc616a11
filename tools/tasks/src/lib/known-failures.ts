import { addSummaries, type TestSummary } from './reports.ts'

/** Tests that fail in one kind of run, and why. */
export interface KnownFailure {
  readonly package: string
  /** The full name of the test, or how those of several begin. */
  readonly title: string
  readonly reason: string
}

/** Takes the known failures out of what a run of a package has found. One that does not fail any more is a failure. */
export function withoutKnown(summary: TestSummary, known: readonly KnownFailure[]): TestSummary {
  const beginOf = (failure: KnownFailure): string => `${failure.package}: ${failure.title}`
  const isKnown = (line: string): boolean => known.some((failure) => line.startsWith(beginOf(failure)))
  const others = summary.failures.filter((line) => !isKnown(line))
  const outdated = known
    .filter((failure) => !summary.failures.some((line) => line.startsWith(beginOf(failure))))
    .map((failure) => `${beginOf(failure)}: passes or is gone, so it does not belong to the known failures`)
  const failed = summary.failed - (summary.failures.length - others.length)
  return addSummaries([
    { ...summary, failed, failures: others },
    { passed: 0, failed: outdated.length, failures: outdated },
  ])
}

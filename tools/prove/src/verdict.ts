import type { Line } from './line.ts'

/** The report of the process of a line. */
export type Report =
  | { readonly kind: 'returned'; readonly isRight: boolean; readonly seen: string }
  | { readonly kind: 'threw'; readonly message: string }
  | { readonly kind: 'unsound'; readonly message: string; readonly next: string }
  | { readonly kind: 'not offered'; readonly missing: readonly string[] }
  | { readonly kind: 'not loaded'; readonly message: string }

/** How the process of a line has ended: with a report, by itself without one, or by the time limit. */
export interface Ending {
  readonly report?: Report | undefined
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly isLate: boolean
  /** The end of what the process wrote to stderr. */
  readonly stderr: string
}

export type Verdict =
  | 'right'
  | 'error'
  | 'unclear'
  | 'wrong'
  | 'silent'
  | 'crash'
  | 'hang'
  | 'not offered'
  | 'not loaded'

/** A verdict, and what was seen. */
export interface Finding {
  readonly line: string
  readonly contestant: string
  readonly verdict: Verdict
  readonly seen: string
}

/** Judges the end of a process. `silent` is a result where an error was due, and `unclear` an error that does not say what is wrong. */
export function judge(
  line: Line,
  { report, code, signal, isLate, stderr }: Ending,
): Omit<Finding, 'line' | 'contestant'> {
  if (isLate) {
    const seen = report === undefined ? 'no answer' : 'an answer, but the process did not end'
    return { verdict: 'hang', seen: `${seen} before the time limit` }
  }
  if (report === undefined) {
    const lastWords = /^\s*(?:[\w.]*(?:Error|panic)\b.*|thread .* panicked.*)$/m.exec(stderr)?.[0].trim()
    const end = `the process ended with ${signal ?? `exit code ${code}`}`
    return { verdict: 'crash', seen: lastWords === undefined ? end : `${end}: ${lastWords}` }
  }
  switch (report.kind) {
    case 'returned':
      if (line.expected === 'error') return { verdict: 'silent', seen: report.seen }
      return { verdict: report.isRight ? 'right' : 'wrong', seen: report.seen }
    case 'threw':
      return { verdict: (line.reason ?? /: ./).test(report.message) ? 'error' : 'unclear', seen: report.message }
    case 'unsound':
      return { verdict: 'wrong', seen: `${report.message}, and the next call gave ${report.next}` }
    case 'not offered':
      return { verdict: 'not offered', seen: `without ${report.missing.join(', ')}` }
    case 'not loaded':
      return { verdict: 'not loaded', seen: report.message }
  }
}

/**
 * Returns how far a verdict is from what the line expects: 0 is as expected, 1 is an error without a reason, or an error or nothing where a
 * result was due, 2 is a wrong
 * result without an error, and 3 ends or blocks the process.
 */
export function distance({ expected }: Line, verdict: Verdict): number {
  if (verdict === 'crash' || verdict === 'hang') return 3
  if (verdict === 'wrong' || verdict === 'silent') return 2
  if (verdict === 'not offered' || verdict === 'not loaded') return 1
  return verdict === (expected === 'error' ? 'error' : 'right') ? 0 : 1
}

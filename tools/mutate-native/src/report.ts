import { groupBy } from './group-by.ts'
import { type Mutant, mutantKey, topicOf } from './mutant.ts'
import type { Status } from './results.ts'

/** A mutant with its result. */
export interface Outcome {
  readonly mutant: Mutant
  /** `equivalent` if the list of equivalent mutants has it, and `not measured` if the time was over. */
  readonly status: Status | 'equivalent' | 'not measured'
  readonly by?: string | undefined
}

/** The figures of a topic or a file. */
export interface Figures {
  readonly name: string
  readonly killed: number
  readonly timeout: number
  readonly survived: number
  readonly notCovered: number
  readonly equivalent: number
  readonly notMeasured: number
}

/** What a run was. */
export interface RunDescription {
  readonly command: string
  readonly commit: string
  /** `2026-12-01`. */
  readonly date: string
}

/** Counts outcomes by a name. */
export function figuresBy(outcomes: readonly Outcome[], nameOf: (mutant: Mutant) => string): Figures[] {
  return [...groupBy(outcomes, ({ mutant }) => nameOf(mutant))].map(([name, own]) => {
    const count = (status: Outcome['status']): number => own.filter((outcome) => outcome.status === status).length
    return {
      name,
      killed: count('killed'),
      timeout: count('timeout'),
      survived: count('survived'),
      notCovered: count('not covered'),
      equivalent: count('equivalent'),
      notMeasured: count('not measured'),
    }
  })
}

/** The killed mutants of those that were measured, in percent, rounded down. A mutant that makes a test run out of time is killed. */
export function percentKilled({ killed, timeout, survived, notCovered }: Figures): number {
  const all = killed + timeout + survived + notCovered
  return all === 0 ? 100 : Math.floor((100 * (killed + timeout)) / all)
}

const notes = [
  'A mutant is a change of one place: a condition that is always true or false, a relation with another boundary, an arithmetic operator or a constant',
  'that is changed, a statement, a jump or a negation that is removed. One build contains all mutants, of which a process has one. The C tests whose',
  'code runs the place are run until one fails. Tests that together take more than 20 seconds are left out, and mutants that only they',
  'would kill count as surviving. So do those that only tests in TypeScript would kill, unless the command names these tests. Code in',
  'macros and in code for other systems has no mutants.',
]

/** The report in Markdown. */
export function printReport({ command, commit, date }: RunDescription, outcomes: readonly Outcome[]): string {
  const topics = figuresBy(outcomes, ({ file }) => topicOf(file))
  const files = figuresBy(outcomes, ({ file }) => file)
  const surviving = outcomes.filter(({ status }) => status === 'survived' || status === 'not covered')
  return [
    '# pnpm mutate:native',
    '',
    `Written by \`${command}\` on ${date}.`,
    '',
    `- Commit: ${commit}`,
    '',
    ...notes,
    '',
    '## Topics',
    '',
    ...figuresTable('topic', topics),
    '',
    '## Files',
    '',
    ...figuresTable('file', files),
    '',
    '## Mutants that survive',
    '',
    ...[...groupBy(surviving, ({ mutant }) => mutant.file)].flatMap(([file, own]) => [
      `### ${file}`,
      '',
      '```text',
      ...own.map(({ mutant, status }) => describe(mutant, status)),
      '```',
      '',
    ]),
  ].join('\n')
}

/** The report for programs. */
export function reportAsJson(run: RunDescription, outcomes: readonly Outcome[]): string {
  const topics = figuresBy(outcomes, ({ file }) => topicOf(file)).map((figures) => ({
    ...figures,
    percent: percentKilled(figures),
  }))
  const mutants = outcomes.map(({ mutant, status, by }) => ({
    mutant: mutantKey(mutant),
    operator: mutant.operator,
    status,
    by,
  }))
  return `${JSON.stringify({ ...run, topics, mutants }, null, 1)}\n`
}

/** One line about a mutant. */
export function describe({ function: name, line, from, to }: Mutant, status: Outcome['status']): string {
  const change = to === '' ? `removed: ${shorten(from)}` : `${shorten(from)} -> ${shorten(to)}`
  return `${line} ${name}: ${change}${status === 'not covered' ? ' (not covered)' : ''}`
}

const LONGEST = 90

function shorten(code: string): string {
  return code.length <= LONGEST ? code : `${code.slice(0, LONGEST - 1)}…`
}

/** A table in Markdown whose columns are aligned, as the formatter wants. */
export function figuresTable(title: string, rows: readonly Figures[]): string[] {
  const cells = rows.map((row) => [
    row.name,
    `${percentKilled(row)} %`,
    ...[row.killed, row.timeout, row.survived, row.notCovered, row.equivalent, row.notMeasured].map(String),
  ])
  const head = [title, 'killed', 'by a test', 'by time', 'survived', 'not covered', 'equivalent', 'not measured']
  const widths = head.map((text, column) => Math.max(text.length, ...cells.map((row) => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)]
}

import type { LeftOutTest } from './messages.ts'
import { type Counts, killedShare, type MutantOutcome, type MutantResult, OUTCOMES } from './results.ts'

/** What a run has found in a package, which later runs of other packages keep in the report. */
export interface PackageResult {
  readonly package: string
  /** The commit whose code was measured, with `+` behind it if files differed. */
  readonly commit: string
  /** In ISO 8601. */
  readonly date: string
  readonly folders: Readonly<Record<string, Counts>>
  readonly survived: readonly MutantResult[]
  readonly leftOut: readonly LeftOutTest[]
}

const notes = [
  'A mutant is one change of the source: another operator, a condition that is always true or false, a block without its statements, a call that is',
  'left out. It is killed if a test fails with it and passes without it, and a timeout if the tests no longer end. The share is that of both among these and the mutants that',
  'survive or that no test runs.',
  '',
  'Not changed: strings, the texts of errors and hints, numbers, and types. Mutants "at load" are in code that runs only while modules load, and are not',
  'measured. Tests that take more than a second, and those in files `*.crash`, `*.process`, `*.fuzz` and `*.soak` do not run for mutants, and programs and workers that tests start run the built packages, which have no',
  'mutants: what only these find counts as survived or as not covered. An equivalent mutant behaves as the code does; the reason is in `tools/tasks/equivalent-mutants.json`.',
]

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text, column) => (column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!))).join(' | ')} |`
  const [head, ...body] = rows.map(line)
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [head!, line(rule), ...body]
}

const shareOf = (counts: Counts): string => {
  const share = killedShare(counts)
  return share === undefined ? '–' : `${share} %`
}

function sum(all: readonly Counts[]): Counts {
  return Object.fromEntries(
    OUTCOMES.map((name) => [name, all.reduce((total, counts) => total + counts[name], 0)]),
  ) as Record<MutantOutcome, number>
}

/** The table of the folders of packages. */
export function folderTable(packages: readonly PackageResult[]): string[] {
  const folders = packages.flatMap((result) => Object.entries(result.folders))
  const row = (name: string, counts: Counts): string[] => [
    name,
    shareOf(counts),
    ...OUTCOMES.map((outcome) => String(counts[outcome])),
  ]
  return table([
    ['folder', 'killed', ...OUTCOMES],
    ...folders.map(([name, counts]) => row(name, counts)),
    row('all', sum(folders.map(([, counts]) => counts))),
  ])
}

/** The report in Markdown, with the packages in the order of their names. */
export function mutationReport(packages: readonly PackageResult[]): string {
  const commits = new Set(packages.map(({ commit }) => commit))
  return [
    '# pnpm mutate',
    '',
    ...(commits.size === 1 ? [`- Commit: ${[...commits][0]}`, ''] : []),
    ...notes,
    '',
    '## Mutants by folder',
    '',
    ...folderTable(packages),
    '',
    '## Packages',
    '',
    ...table([
      ['package', 'commit', 'date', 'slow tests', 'tests that fail when they run again'],
      ...packages.map(({ package: name, commit, date, leftOut }) => [
        name,
        commit,
        date.slice(0, 10),
        ...(['is slow', 'fails when it runs again'] as const).map((why) =>
          String(leftOut.filter(({ reason }) => reason === why).length),
        ),
      ]),
    ]),
    '',
  ].join('\n')
}

/**
 * The command `pnpm prove [--only <area>[/<line>[/<contestant>]]]`, which does the same work with Tenon and with its rivals. Without `--only` it
 * writes docs/proof.md and its plots. The exit code is 1 if Tenon loses a line that the list of known losses does not have.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, QUICK_PLAN, type RowResult, runBench } from '@tenon/bench'
import { runMain, ToolError } from '@tenon/build'
import { checkoutCommit } from '@tenon/config/checkout-commit'
import { inLanes } from '../../tasks/src/lib/in-lanes.ts'
import { prepareArena, setup } from './arena.ts'
import { contestants } from './contestants/index.ts'
import type { Contestant, Runtime } from './contestant.ts'
import { type InstallSize, installedSize, packedSize } from './install-size.ts'
import { lossesAmong, surprises } from './judgement.ts'
import type { Line } from './line.ts'
import { lines } from './lines/index.ts'
import { drawPlots } from './page/plots.ts'
import { findingsTable, sizesTable, speedTable } from './page/tables.ts'
import { writePage } from './page/page.ts'
import { type Arena, runLine } from './run-line.ts'
import type { Finding } from './verdict.ts'
import { works } from './speed/works.ts'
import { versionsOf } from './versions.ts'

const root = join(import.meta.dirname, '../../..')
const reports = join(root, 'docs/reports')

/** The seconds that the speeds of each runtime may take: those of calls, and of whole processes. */
const budgets: Readonly<Record<Runtime, { calls: number; start: number }>> = {
  node: { calls: 60, start: 30 },
  bun: { calls: 25, start: 15 },
  deno: { calls: 25, start: 15 },
}

/** The rows of each of the two. */
const speeds = { calls: works.map(({ name }) => name), start: ['start/first-call'] }

/** The lines and contestants that `--only` selects. */
interface Selection {
  readonly line?: string | undefined
  readonly contestant?: string | undefined
}

await runMain(async () => {
  const { values } = parseArgs({ options: { only: { type: 'string' } } })
  const [area, subject, contestant] = values.only?.split('/') ?? []
  const selection = { line: subject === undefined ? area && `${area}/` : `${area}/${subject}`, contestant }
  const machine = describeMachine()
  const commit = checkoutCommit(root)
  const arena = prepareArena()
  for (const { name, reason } of arena.absent) talk(`absent: ${name}: ${reason}`)

  const findings = await findAll(selection, arena)
  const { results, failures } = await measureAll(selection, arena)
  const sizes = isSelected('install/size', selection) ? await measureSizes(selection) : {}
  if (findings.length + results.length + failures.length + Object.keys(sizes).length === 0)
    throw new ToolError(
      `--only ${values.only} selects nothing. The lines are in tools/prove/src/lines and tools/prove/src/speed.`,
    )

  const losses = lossesAmong(findings, lines)
  const problems = [...surprises(findings, losses), ...failures]
  if (values.only === undefined) {
    const origin = {
      machine,
      commit,
      date: new Date().toISOString(),
      versions: versionsOf(arena),
      absent: arena.absent,
    }
    publish({ ...origin, findings, results, sizes })
  } else {
    const tables = [findingsTable(findings), speedTable(results), sizesTable(sizes)]
    process.stdout.write(`${tables.filter((table) => table !== '').join('\n\n')}\n`)
  }
  for (const problem of problems) talk(`unexpected: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
})

function talk(line: string): void {
  process.stderr.write(`${line}\n`)
}

function isSelected(name: string, { line }: Selection): boolean {
  return line === undefined || name === line || (line.endsWith('/') && name.startsWith(line))
}

/** Runs each selected line with each selected contestant, as many processes at the same time as there are processors. */
async function findAll(selection: Selection, arena: Arena): Promise<Finding[]> {
  const pairs: (readonly [Line, Contestant])[] = lines
    .filter(({ name }) => isSelected(name, selection))
    .flatMap((line) => contestants.map((contestant) => [line, contestant] as const))
    .filter(([, { name }]) => selection.contestant === undefined || name === selection.contestant)
  const findings = await inLanes(pairs, async ([line, contestant]) => {
    const finding = await runLine(line, contestant, arena)
    talk(`${finding.verdict.padEnd(12)} ${line.name}/${contestant.name}`)
    return finding
  })
  // Paths of this machine do not belong to the page.
  return findings.map((finding) => ({ ...finding, seen: finding.seen.replaceAll(root, '').replaceAll('file://', '') }))
}

/** Measures the selected speeds in each runtime that is installed. */
async function measureAll(
  selection: Selection,
  { runtimes }: Arena,
): Promise<{ results: RowResult[]; failures: string[] }> {
  const results: RowResult[] = []
  const failures: string[] = []
  if (selection.contestant === undefined) delete process.env['TENON_PROVE_RIVAL']
  else process.env['TENON_PROVE_RIVAL'] = selection.contestant
  for (const runtime of Object.keys(runtimes) as Runtime[]) {
    const rival = contestants.find(({ name }) => name === selection.contestant)
    if (rival !== undefined && !rival.runtimes.includes(runtime)) continue
    for (const part of ['calls', 'start'] as const) {
      if (!speeds[part].some((name) => isSelected(name, selection))) continue
      const measured = await runBench({
        files: [join(import.meta.dirname, `speed/${part}.bench.ts`)],
        nodes: [runtimes[runtime]!],
        runtime: runtime === 'node' ? undefined : runtime,
        plan: { ...QUICK_PLAN, budget: budgets[runtime][part] * 1e9 },
        rows: selection.line === undefined ? undefined : [selection.line],
        fromSource: false,
        check: false,
        progress: talk,
      })
      results.push(...measured.results)
      failures.push(...measured.failures)
    }
  }
  return { results, failures }
}

async function measureSizes({ contestant }: Selection): Promise<Record<string, InstallSize>> {
  const sizes: Record<string, InstallSize> = {}
  for (const { name, package: pkg } of contestants) {
    if (pkg === undefined || (contestant !== undefined && contestant !== name)) continue
    sizes[name] = pkg === 'tenon' ? await packedSize(pkg) : installedSize(pkg, join(setup.rivals, '..'))
  }
  return sizes
}

/** Writes the page, its plots, and the findings as JSON, and says which verdicts differ from those of the last run. */
function publish(proof: Parameters<typeof writePage>[0]): void {
  mkdirSync(reports, { recursive: true })
  const file = join(reports, 'proof.json')
  if (existsSync(file)) {
    const { findings } = JSON.parse(readFileSync(file, 'utf8')) as { findings: Finding[] }
    for (const { line, contestant, verdict } of findings) {
      const now = proof.findings.find((finding) => finding.line === line && finding.contestant === contestant)
      if (now !== undefined && now.verdict !== verdict)
        talk(`changed: ${line}/${contestant}: ${now.verdict} instead of ${verdict}`)
    }
  }
  writeFileSync(file, `${JSON.stringify(proof, undefined, 2)}\n`)
  const plots = drawPlots(proof)
  for (const { name, svg } of plots) writeFileSync(join(reports, `${name}.svg`), svg)
  const page = join(root, 'docs/proof.md')
  writeFileSync(page, writePage(proof, plots))
  execFileSync('oxfmt', [page])
}

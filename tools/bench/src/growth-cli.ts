/**
 * The command `pnpm bench:growth`, which measures how the time of hot paths grows with what one call has, as the bench/growth.ts of the
 * packages make it. Data goes to stdout, messages to stderr. The exit code is 1 if the time of a row grows faster than its number without
 * a reason.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { MOST_GROWTH } from './alive/growth.ts'
import { root, shown } from './bench-files.ts'
import { buildFor } from './build.ts'
import { isGrowing, measureGrowth, type GrowthResult } from './growth/measure-growth.ts'
import type { GrowthSuite } from './growth/suite.ts'
import { describeMachine } from '../../../packages/tenon/src/benchmark/machine.ts'
import { writeGrowthReport } from './report.ts'
import { runCommand, talk } from './run-command.ts'
import { align } from './table.ts'
import { timeText } from './units.ts'

const USAGE = `pnpm bench:growth [options]

Measures the time of a call against the number of its arguments, buffers, strings and so on, and fits the exponent with which it
grows. Exits with 1 if it is above ${MOST_GROWTH} without a reason. Builds first.

  --row <text>  only rows whose names contain this text
  --built       measure what was built before
  --json        one JSON document on stdout instead of the table
  --report dir  writes growth.json, growth.md and growth.svg there
  --help        this text`

function formatGrowth(results: readonly GrowthResult[]): string {
  const lines = results.map(({ package: of, name, points, exponent, reason }) => [
    of,
    name,
    points.map(({ count, nanoseconds }) => `${count.toLocaleString('en')}: ${timeText(nanoseconds)}`).join(', '),
    `${exponent.toFixed(2)}${reason === undefined ? '' : ` (${reason})`}`,
  ])
  return align([['package', 'number of', 'time of one call', 'exponent'], ...lines])
}

interface Options {
  readonly row?: string
  readonly report?: string
  readonly built: boolean
  readonly json: boolean
}

async function main({ row = '', report, built, json }: Options): Promise<void> {
  const files = globSync('packages/*/bench/growth.ts', { cwd: root })
    .toSorted()
    .map((file) => join(root, file))
  if (!built) buildFor(files)
  const [machine, date] = [describeMachine(), new Date().toISOString()]
  const results: GrowthResult[] = []
  for (const file of files) {
    const { suite } = (await import(pathToFileURL(file).href)) as { suite?: GrowthSuite }
    if (suite === undefined) throw new Error(`${shown(file)} must export a \`suite\``)
    for (const one of suite.rows.filter(({ name }) => name.includes(row))) {
      talk(`${suite.package}: ${one.name}`)
      results.push(await measureGrowth(suite.package, one))
    }
  }
  if (results.length === 0) throw new Error('nothing was measured, because no row matches the options')
  process.stdout.write(`${json ? JSON.stringify({ machine, date, results }, null, 2) : formatGrowth(results)}\n`)
  if (report !== undefined) writeGrowthReport(report, { machine, date }, results)
  for (const { package: of, name, exponent } of results.filter(isGrowing)) {
    talk(`grows: ${of}: ${name}, exponent ${exponent.toFixed(2)}`)
    process.exitCode = 1
  }
}

const parse = () =>
  parseArgs({
    options: {
      row: { type: 'string' },
      report: { type: 'string' },
      built: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values

await runCommand(USAGE, parse, main)

/**
 * The command `pnpm bench`. Data goes to stdout, messages to stderr. The exit code is 1 if a row failed or missed its target,
 * and 2 for a wrong command line.
 */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

import { findBenchFiles, isPlotFile, root } from './bench-files.ts'
import { buildFor } from './build.ts'
import { compareCheckouts, formatComparison, PAIRS } from './compare-checkouts.ts'
import { describeMachine } from '../../../packages/tenon/src/benchmark/machine.ts'
import { versions } from './versions.ts'
import { parseOptions, USAGE, type CliOptions } from './options.ts'
import { FULL_PLAN, QUICK_PLAN } from './plans.ts'
import { writeBenchReport } from './report.ts'
import { runBench } from './run-bench.ts'
import { runCommand, talk } from './run-command.ts'
import { formatTable } from './table.ts'

async function main(options: CliOptions): Promise<void> {
  const found = options.files.length > 0 ? options.files.map((file) => resolve(file)) : findBenchFiles(options.filter)
  const files = options.plots ? found.filter(isPlotFile) : found
  if (!options.source) buildFor(files)
  const machine = describeMachine()
  if (machine.load > machine.cores / 2)
    talk(`${machine.load} processes are running on ${machine.cores} cores, so the figures will vary`)
  if (options.against !== undefined) return compare(options, files, resolve(options.against))
  const date = new Date().toISOString()
  const { results, failures, misses } = await runBench({
    files,
    nodes: options.nodes,
    runtime: options.runtime,
    plan: options.quick ? QUICK_PLAN : FULL_PLAN,
    rows: options.row === undefined ? undefined : [options.row],
    fromSource: options.source,
    check: options.check,
    progress: talk,
    onFile: (measured) => {
      if (!options.json && measured.length > 0) process.stdout.write(`${formatTable(measured)}\n\n`)
    },
  })
  if (options.json)
    process.stdout.write(`${JSON.stringify({ machine, versions: versions(), date, results }, null, 2)}\n`)
  if (options.report !== undefined) writeBenchReport(options.report, { machine, versions: versions(), date }, results)
  if (results.length === 0 && failures.length === 0)
    throw new Error('nothing was measured, because no row matches the options')
  for (const failure of failures) talk(`failed: ${failure}`)
  for (const miss of misses) talk(`missed: ${miss}`)
  if (failures.length > 0 || misses.length > 0) process.exitCode = 1
}

/** A row that became slower does not change the exit code, because noise can make a row slower too. */
async function compare(
  { nodes, quick, row, source, json }: CliOptions,
  files: readonly string[],
  other: string,
): Promise<void> {
  if (!existsSync(join(other, 'packages'))) throw new Error(`${other} is not a checkout of this repository`)
  const [node, ...more] = nodes
  if (node === undefined || more.length > 0) throw new Error('--against measures one version of Node.js')
  if (!source)
    buildFor(
      files.filter((file) => existsSync(join(other, relative(root, file)))),
      other,
    )
  const plan = quick ? QUICK_PLAN : FULL_PLAN
  const share = { ...plan, processes: 1, budget: plan.budget / Math.max(1, files.length * PAIRS * 2) }
  const rows = row === undefined ? undefined : [row]
  const result = await compareCheckouts({ files, other, node, plan: share, rows, fromSource: source, progress: talk })
  process.stdout.write(`${json ? JSON.stringify(result, null, 2) : formatComparison(result)}\n`)
  for (const failure of result.failures) talk(`failed: ${failure}`)
  if (result.failures.length > 0 || result.changes.length === 0) process.exitCode = 1
}

await runCommand(USAGE, () => parseOptions(process.argv.slice(2)), main)

import type { TestedRuntime } from '@tenon/config/runtimes'

import { shown } from './bench-files.ts'
import type { Plan } from './measure.ts'
import { FULL_PLAN } from './plans.ts'
import { joinSamples, resultOf, type RowResult, type RowSamples } from './result.ts'
import { runFile } from './run-file.ts'
import { describeMiss, missesOf } from './targets.ts'

export interface BenchOptions {
  readonly files: readonly string[]
  readonly nodes: readonly string[]
  /** The runtime behind the paths `nodes`, if it is not Node.js. */
  readonly runtime?: TestedRuntime | undefined
  readonly plan: Plan
  /** The names of the rows must contain one of these texts; undefined for all rows. */
  readonly rows?: readonly string[] | undefined
  readonly fromSource: boolean
  readonly check: boolean
  /** Receives a line of progress. */
  readonly progress: (line: string) => void
  readonly onFile?: (results: readonly RowResult[]) => void
}

export interface BenchOutcome {
  readonly results: readonly RowResult[]
  /** The rows and files that could not be measured, with the reasons. */
  readonly failures: readonly string[]
  /** Descriptions of the targets that were missed each time. */
  readonly misses: readonly string[]
}

/** The number of times that a row is measured again before a missed target counts. */
export const RETRIES = 2

/** Measures all files on all versions of Node.js, one process at a time, and checks the targets if `check` is set. */
export async function runBench(options: BenchOptions): Promise<BenchOutcome> {
  const { files, nodes, check, progress } = options
  const results: RowResult[] = []
  const failures: string[] = []
  const misses: string[] = []
  const end = performance.now() + options.plan.budget / 1e6
  let remaining = files.length * nodes.length

  async function measure(file: string, node: string, plan: Plan, rows = options.rows): Promise<RowResult[]> {
    const samples = new Map<string, RowSamples>()
    const problems = new Set<string>()
    for (let i = 0; i < plan.processes && problems.size === 0; i++) {
      const { runtime, fromSource } = options
      await runFile(file, { node, runtime, plan, fromSource, ...(rows && { rows }) }, (report) => {
        if (report.kind === 'failure') problems.add(`${shown(file)}: ${report.row}: ${report.message}`)
        else if (report.kind === 'warning') progress(`  ${report.message}`)
        else {
          const { name } = report.samples
          const earlier = samples.get(name)
          samples.set(name, earlier ? joinSamples(earlier, report.samples) : report.samples)
        }
      }).catch((error: unknown) => problems.add((error as Error).message))
    }
    failures.push(...problems)
    return [...samples.values()].map(resultOf)
  }

  /** Measures rows that missed their targets again with the full plan, until they meet them or no retries are left. */
  async function measureAgain(file: string, node: string, first: readonly RowResult[]): Promise<RowResult[]> {
    let latest = first
    for (let retry = 1; retry <= RETRIES; retry++) {
      const missing = latest.filter((result) => missesOf(result).length > 0).map(({ name }) => name)
      if (missing.length === 0) break
      progress(`  measuring again (${retry} of ${RETRIES}): ${missing.join(', ')}`)
      const again = new Map((await measure(file, node, FULL_PLAN, missing)).map((result) => [result.name, result]))
      latest = latest.map((result) => again.get(result.name) ?? result)
    }
    misses.push(...latest.flatMap(missesOf).map(describeMiss))
    return [...latest]
  }

  for (const file of files) {
    const ofFile: RowResult[] = []
    for (const node of nodes) {
      progress(`${shown(file)}${nodes.length > 1 ? ` on ${node}` : ''}`)
      const budget = Math.max(0, ((end - performance.now()) / remaining-- / options.plan.processes) * 1e6)
      const measured = await measure(file, node, { ...options.plan, budget })
      ofFile.push(...(check ? await measureAgain(file, node, measured) : measured))
    }
    results.push(...ofFile)
    options.onFile?.(ofFile)
  }
  return { results, failures, misses }
}

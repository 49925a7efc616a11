/**
 * The command `pnpm test [turbo options]`, which runs every test of the repository, or of the packages that `--filter`
 * selects, and adds up their reports, including those from the cache.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { findNode } from '@tenon/config/node-versions'
import { runMain } from '@tenon/build'

import { addSummaries, explainExitCode, printCounts, printSummary, readReport } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { runTool } from './lib/run-tool.ts'
import { planTasks } from './lib/turbo.ts'

/** The reports of each task, relative to its package, and what it adds to the name of the package. */
const reports: Readonly<Record<string, { readonly path: string; readonly suffix: string }>> = {
  test: { path: 'reports/vitest.json', suffix: '' },
  'test:native': { path: 'reports/native.json', suffix: ' (native)' },
  'test:fast-math': { path: 'reports/fast-math.json', suffix: ' (fast-math)' },
}

await runMain(async () => {
  const args = process.argv.slice(2)
  const wanted = process.env['TENON_NODE']
  if (wanted) process.stdout.write(`tests on ${findNode(wanted)}\n`)

  const tests = (await planTasks(Object.keys(reports), args)).flatMap(({ package: name, task, directory }) => {
    const report = reports[task]
    return report ? [{ label: `${name}${report.suffix}`, report: join(root, directory, report.path) }] : []
  })
  // Removes reports of earlier runs. turbo restores those of cached tasks.
  for (const { report } of tests) rmSync(report, { force: true })

  const options = ['--continue=dependencies-successful', '--output-logs=new-only', '--log-order=grouped']
  const code = await runTool('turbo', ['run', ...Object.keys(reports), ...options, ...args])

  const summaries = tests.map(({ label, report }) => printCounts(readReport(report, label), label))
  printSummary(explainExitCode(addSummaries(summaries), code, 'turbo'))
})

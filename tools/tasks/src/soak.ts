/**
 * `pnpm soak [--filter package]`: every `*.soak.test.ts` at its full size, which `pnpm test` runs at a fraction of it. A test
 * reads `TENON_SOAK`, which is `1` here and not set there.
 */
import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain, ToolError } from '@tenon/build'

import { addSummaries, explainExitCode, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { runTool } from './lib/run-tool.ts'
import { listTestedPackages, runVitest, type TestedPackage } from './lib/vitest.ts'

/** How long one test may take, in milliseconds. */
const TEST_TIMEOUT = 4 * 3600 * 1000

await runMain(async () => {
  const { values } = parseArgs({ options: { filter: { type: 'string', multiple: true, default: [] } } })
  const filters = values.filter.map((filter) => `--filter=${filter}`)
  if ((await runTool('turbo', ['run', 'build', 'build:native', '--output-logs=errors-only', ...filters])) !== 0) {
    throw new ToolError('the build failed')
  }
  const summaries: TestSummary[] = []
  for (const tested of await listTestedPackages(filters)) {
    if (globSync('test/**/*.soak.test.ts', { cwd: tested.directory }).length > 0) summaries.push(await soak(tested))
  }
  printSummary(addSummaries(summaries))
})

async function soak(tested: TestedPackage): Promise<TestSummary> {
  const report = join(tested.directory, 'reports/soak.json')
  rmSync(report, { force: true })
  const args = ['.soak.test.ts', `--testTimeout=${TEST_TIMEOUT}`]
  const code = await runVitest(tested, report, args, { TENON_SOAK: '1' })
  return explainExitCode(readReport(report, tested.name), code, `${tested.name}: vitest`)
}

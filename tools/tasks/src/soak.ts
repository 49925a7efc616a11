/**
 * The command `pnpm soak [--filter package]`, which runs every `*.soak.test.ts` at its full size. `pnpm test` runs them at a
 * fraction. A test reads `TENON_SOAK`, which is `1` here and not set there.
 */
import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { runMain } from '@tenon/build'

import { writeCampaign } from './lib/campaign-report.ts'
import { addSummaries, printSummary, type TestSummary } from './lib/reports.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, runVitest } from './lib/vitest.ts'

/** In milliseconds. */
const TEST_TIMEOUT = 4 * 3600 * 1000

await runMain(async () => {
  const start = new Date()
  const { values } = parseArgs({ options: { filter: { type: 'string', multiple: true, default: [] } } })
  const filters = values.filter.map((filter) => `--filter=${filter}`)
  await build(filters)
  const summaries: TestSummary[] = []
  for (const tested of await listTestedPackages(filters)) {
    if (globSync('test/**/*.soak.test.ts', { cwd: tested.directory }).length === 0) continue
    const args = ['.soak.test.ts', `--testTimeout=${TEST_TIMEOUT}`]
    summaries.push(await runVitest(tested, 'soak', args, { TENON_SOAK: '1' }))
  }
  const summary = addSummaries(summaries)
  printSummary(summary)
  writeCampaign('soak', process.argv.slice(2), start, summary)
})

/**
 * The command `pnpm test:tsan`, which runs the tests in C against native code that is instrumented with ThreadSanitizer.
 * Node.js itself cannot run under it.
 */
import { join } from 'node:path'

import { loadPackage, runMain, runNativeTests, ToolError } from '@tenon/build'

import { writeCampaign } from './lib/campaign-report.ts'
import { addSummaries, printCounts, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  const start = new Date()
  if (process.platform !== 'linux') throw new ToolError('test:tsan requires Linux')
  // An allocation that is too large must fail, as without the sanitizer. Tests fork, and their child processes start threads.
  process.env['TSAN_OPTIONS'] = 'allocator_may_return_null=1:die_after_fork=0'
  const summaries: TestSummary[] = []
  for (const { name, directory } of withNativeTargets(await listPackages())) {
    const pkg = await loadPackage(directory)
    if (!pkg.native.targets.some(({ kind }) => kind === 'test')) continue
    await runNativeTests(pkg, 'tsan')
    const label = `${name} (native)`
    summaries.push(printCounts(readReport(join(directory, 'reports/native.json'), label), label))
  }
  const summary = addSummaries(summaries)
  printSummary(summary)
  writeCampaign('test:tsan', process.argv.slice(2), start, summary)
})

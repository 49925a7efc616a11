/**
 * The command `pnpm test:tsan`, which runs the tests in C against native code that is instrumented with ThreadSanitizer.
 * Node.js itself cannot run under it.
 */
import { join } from 'node:path'

import { loadPackage, runMain, runNativeTests, ToolError } from '@tenon/build'

import { addSummaries, printCounts, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  if (process.platform !== 'linux') throw new ToolError('test:tsan requires Linux')
  // An allocation that is too large must fail, as without the sanitizer.
  process.env['TSAN_OPTIONS'] = 'allocator_may_return_null=1'
  const summaries: TestSummary[] = []
  for (const { name, directory } of withNativeTargets(await listPackages())) {
    const pkg = await loadPackage(directory)
    if (!pkg.native.targets.some(({ kind }) => kind === 'test')) continue
    await runNativeTests(pkg, 'tsan')
    const label = `${name} (native)`
    summaries.push(printCounts(readReport(join(directory, 'reports/native.json'), label), label))
  }
  printSummary(addSummaries(summaries))
})

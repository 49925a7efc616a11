/**
 * `pnpm test:tsan`: the tests in C against native code that ThreadSanitizer watches. Node itself can't run under it.
 */
import { join } from 'node:path'

import { loadPackage, runMain, runNativeTests, ToolError } from '@tenon/build'

import { addSummaries, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  if (process.platform !== 'linux') throw new ToolError('test:tsan needs Linux')
  // An allocation that is too large must fail, as it does without the sanitizer.
  process.env['TSAN_OPTIONS'] = 'allocator_may_return_null=1'
  const summaries: TestSummary[] = []
  for (const { name, directory } of withNativeTargets(await listPackages())) {
    const pkg = await loadPackage(directory)
    if (!pkg.native.targets.some(({ kind }) => kind === 'test')) continue
    await runNativeTests(pkg, 'tsan')
    const summary = readReport(join(directory, 'reports/native.json'), `${name} (native)`)
    process.stdout.write(`${name}: ${summary.passed} passed, ${summary.failed} failed\n`)
    summaries.push(summary)
  }
  printSummary(addSummaries(summaries))
})

/**
 * `pnpm test:asan [turbo options]`: the tests of packages and examples against native code that AddressSanitizer and UBSan
 * watch. Nothing comes from the cache.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { buildPackage, loadPackage, runCommand, runMain, runNativeTests, ToolError } from '@tenon/build'

import { addSummaries, explainExitCode, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { runTool } from './lib/run-tool.ts'
import { listTestedPackages, runVitest, type TestedPackage } from './lib/vitest.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

const asanOptions = [
  // Node never frees what it keeps for ever.
  'detect_leaks=0',
  // A fault must stay a signal: crash tests look at it, and Node catches some.
  ...['handle_segv=0', 'handle_sigbus=0', 'handle_sigfpe=0', 'handle_abort=0'],
  // An allocation that is too large must fail, as it does without the sanitizer.
  'allocator_may_return_null=1',
]

await runMain(async () => {
  if (process.platform !== 'linux') throw new ToolError('test:asan needs Linux: the sanitizer is preloaded into Node')
  const preload = await findSanitizer()
  const args = process.argv.slice(2)
  // Workers and child processes start from dist.
  if ((await runTool('turbo', ['run', 'build', '--output-logs=errors-only', ...args])) !== 0) {
    throw new ToolError('the build failed')
  }

  // Programs in C have it from the environment.
  process.env['ASAN_OPTIONS'] = 'allocator_may_return_null=1'
  const summaries: TestSummary[] = []
  const tested = await listTestedPackages(args)
  for (const { name, directory } of withNativeTargets(await listPackages())) {
    const pkg = await loadPackage(directory)
    await buildPackage(pkg, 'asan', ['shared'])
    const hasTests = pkg.native.targets.some(({ kind }) => kind === 'test')
    if (!hasTests || !tested.some((other) => other.name === name)) continue
    await runNativeTests(pkg, 'asan')
    summaries.push(print(readReport(join(directory, 'reports/native.json'), `${name} (native)`), `${name} (native)`))
  }
  for (const pkg of tested) summaries.push(print(await testPackage(pkg, preload), pkg.name))
  printSummary(addSummaries(summaries))
})

/** What has to be in the process before anything else: the sanitizer, and the C++ runtime whose exceptions it follows. */
async function findSanitizer(): Promise<string> {
  const compiler = process.env['CC'] || 'cc'
  const paths = []
  for (const library of ['libasan.so', 'libstdc++.so']) {
    const result = await runCommand(compiler, [`-print-file-name=${library}`])
    const path = result.stdout.trim()
    if (!path.startsWith('/')) throw new ToolError(`${compiler} has no ${library}: test:asan needs gcc's`)
    paths.push(path)
  }
  return paths.join(':')
}

async function testPackage(tested: TestedPackage, preload: string): Promise<TestSummary> {
  const report = join(tested.directory, 'reports/asan.json')
  rmSync(report, { force: true })
  // Reports go to files: those of child processes would be lost, and stderr belongs to the tests.
  const logs = mkdtempSync(join(tmpdir(), 'tenon-asan-'))
  try {
    const code = await runVitest(tested, report, [], {
      LD_PRELOAD: preload,
      ASAN_OPTIONS: [...asanOptions, `log_path=${logs}/asan`].join(':'),
      UBSAN_OPTIONS: `print_stacktrace=1:log_path=${logs}/ubsan`,
      TENON_VARIANT: 'asan',
    })
    const summary = explainExitCode(readReport(report, tested.name), code, `${tested.name}: vitest`)
    if (summary.failed > 0) printLogs(logs)
    return summary
  } finally {
    rmSync(logs, { recursive: true })
  }
}

function printLogs(directory: string): void {
  for (const file of globSync('*', { cwd: directory })) {
    const text = readFileSync(join(directory, file), 'utf8')
    if (/ERROR:|runtime error:/.test(text)) process.stdout.write(`${text}\n`)
  }
}

function print(summary: TestSummary, label: string): TestSummary {
  process.stdout.write(`${label}: ${summary.passed} passed, ${summary.failed} failed\n`)
  return summary
}

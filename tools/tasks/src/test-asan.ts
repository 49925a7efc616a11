/**
 * The command `pnpm test:asan [turbo options]`, which runs the tests of packages and examples against native code that is
 * instrumented with AddressSanitizer and UBSan. The cache is not used.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { buildPackage, loadPackage, runMain, runNativeTests, ToolError } from '@tenon/build'
import { runCommand } from '@tenon/build/internal'

import { writeCampaign } from './lib/campaign-report.ts'
import { addSummaries, printCounts, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, runVitest, type TestedPackage } from './lib/vitest.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

/** The options of Node.js. Workers of isolated kernels have their own, in `packages/core/csrc/host/sanitizer.c`. */
const asanOptions = [
  // Node.js does not free its global state.
  'detect_leaks=0',
  // A fault must stay a signal, because crash tests check it, and Node.js handles some.
  ...['handle_segv=0', 'handle_sigbus=0', 'handle_sigfpe=0', 'handle_abort=0'],
  // An allocation that is too large must fail, as without the sanitizer.
  'allocator_may_return_null=1',
]

/**
 * The packages that load no native code of this repository. The sanitizer would only get into the compilers and programs that their
 * tests start, which crash with it or report to its files.
 */
const withoutNativeCode = new Set(['@tenon/binary', '@tenon/build'])

await runMain(async () => {
  const start = new Date()
  if (process.platform !== 'linux')
    throw new ToolError('test:asan requires Linux, because the sanitizer is preloaded into Node.js')
  const preload = await findSanitizer()
  const args = process.argv.slice(2)
  // Workers and child processes start from dist.
  await build(args, ['build'])

  // The test programs in C read the environment.
  process.env['ASAN_OPTIONS'] = 'allocator_may_return_null=1'
  const summaries: TestSummary[] = []
  const tested = (await listTestedPackages(args)).filter(({ name }) => !withoutNativeCode.has(name))
  for (const { name, directory } of withNativeTargets(await listPackages())) {
    const pkg = await loadPackage(directory)
    await buildPackage(pkg, { variant: 'asan', kinds: ['shared', 'addon'] })
    const hasTests = pkg.native.targets.some(({ kind }) => kind === 'test')
    if (!hasTests || !tested.some((other) => other.name === name)) continue
    await runNativeTests(pkg, 'asan')
    const label = `${name} (native)`
    summaries.push(printCounts(readReport(join(directory, 'reports/native.json'), label), label))
  }
  for (const pkg of tested) summaries.push(printCounts(await testPackage(pkg, preload), pkg.name))
  const summary = addSummaries(summaries)
  printSummary(summary)
  writeCampaign('test:asan', process.argv.slice(2), start, summary)
})

/** Finds the libraries to preload: the sanitizer, and the C++ runtime, whose exceptions it tracks. */
async function findSanitizer(): Promise<string> {
  const compiler = process.env['CC'] || 'cc'
  const paths = []
  for (const library of ['libasan.so', 'libstdc++.so']) {
    const result = await runCommand(compiler, [`-print-file-name=${library}`])
    const path = result.stdout.trim()
    if (!path.startsWith('/')) throw new ToolError(`${compiler} has no ${library}. Use gcc for test:asan.`)
    paths.push(path)
  }
  return paths.join(':')
}

async function testPackage(tested: TestedPackage, preload: string): Promise<TestSummary> {
  // The sanitizer writes to files, because the output of child processes would be lost and stderr belongs to the tests.
  const logs = mkdtempSync(join(tmpdir(), 'tenon-asan-'))
  try {
    const summary = await runVitest(tested, 'asan', [], {
      LD_PRELOAD: preload,
      ASAN_OPTIONS: [...asanOptions, `log_path=${logs}/asan`].join(':'),
      UBSAN_OPTIONS: `print_stacktrace=1:log_path=${logs}/ubsan`,
      TENON_VARIANT: 'asan',
    })
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

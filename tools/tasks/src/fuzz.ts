/**
 * The command `pnpm fuzz [--seconds N] [--filter package]`, which runs every `*.fuzz.test.ts` and every fuzz program for N
 * seconds each (60 by default). Programs run with their own driver, and also with libFuzzer if clang is installed. Inputs that
 * they find are kept in `build/<variant>/corpus`.
 *
 * `pnpm fuzz calls [...]` runs the differential fuzz of native calls instead (packages/core/fuzz/calls/main.ts), and `pnpm fuzz modules
 * [...]` that of modules of `tenon bind` (packages/tenon/fuzz/modules/main.ts).
 */
import { existsSync, globSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { type Artifact, buildPackage, loadPackage, runMain, ToolError } from '@tenon/build'
import { runCommand } from '@tenon/build/internal'

import { writeCampaign } from './lib/campaign-report.ts'
import { addSummaries, explainExitCode, printSummary, type TestSummary } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { runVisibly } from './lib/run-tool.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, runVitest } from './lib/vitest.ts'
import { withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  const start = new Date()
  const [topic, ...rest] = process.argv.slice(2)
  if (topic === 'calls' || topic === 'modules') {
    process.exitCode = await (topic === 'calls' ? fuzzOf('@tenon/core', topic, rest) : fuzzOf('tenon', topic, rest))
    return
  }
  const { seconds, filters } = readOptions()
  await build(filters)
  const packages = await listTestedPackages(filters)
  const summaries: TestSummary[] = []
  for (const tested of packages) {
    if (globSync('test/**/*.fuzz.test.ts', { cwd: tested.directory }).length > 0) {
      const args = ['.fuzz.test.ts', `--testTimeout=${(seconds + 60) * 1000}`]
      summaries.push(await runVitest(tested, 'fuzz', args, { TENON_FUZZ_SECONDS: String(seconds) }))
    }
  }
  const hasClang = await canRun('clang')
  for (const { directory } of withNativeTargets(packages)) {
    summaries.push(await fuzzPrograms(directory, 'fuzz', seconds))
    if (hasClang) summaries.push(await fuzzPrograms(directory, 'libfuzzer', seconds))
  }
  if (!hasClang) process.stdout.write('libFuzzer was left out, because clang is not installed\n')
  const summary = addSummaries(summaries)
  printSummary(summary)
  writeCampaign('fuzz', process.argv.slice(2), start, summary)
})

/** Runs the program of a topic, which lies in the package in whose name it ends. */
async function fuzzOf(name: string, topic: string, args: readonly string[]): Promise<number> {
  await build([`--filter=${name}`])
  const program = join(root, 'packages', name.replace('@tenon/', ''), 'fuzz', topic, 'main.ts')
  return runVisibly(process.execPath, ['--conditions=@tenon/source', program, ...args])
}

function readOptions(): { seconds: number; filters: string[] } {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '60' }, filter: { type: 'string', multiple: true, default: [] } },
  })
  const seconds = Number(values.seconds)
  if (!Number.isInteger(seconds) || seconds < 1) {
    throw new ToolError(`--seconds must be a whole number above 0, got ${values.seconds}`)
  }
  return { seconds, filters: values.filter.map((filter) => `--filter=${filter}`) }
}

async function canRun(command: string): Promise<boolean> {
  try {
    return (await runCommand(command, ['--version'])).code === 0
  } catch {
    return false
  }
}

async function fuzzPrograms(directory: string, variant: 'fuzz' | 'libfuzzer', seconds: number): Promise<TestSummary> {
  const pkg = await loadPackage(directory)
  if (!pkg.native.targets.some(({ kind }) => kind === 'fuzz')) return addSummaries([])
  // Programs that start workers start those with sanitizers, which no program for libFuzzer can be.
  if (pkg.native.targets.some(({ kind }) => kind === 'executable')) {
    await buildPackage(pkg, { variant: 'asan', kinds: ['shared', 'executable'] })
  }
  const artifacts = await buildPackage(pkg, { variant, kinds: ['shared', 'fuzz'] })
  const summaries = []
  for (const artifact of artifacts.filter(({ target }) => target.kind === 'fuzz')) {
    summaries.push(await fuzzProgram(directory, artifact, variant, seconds))
  }
  return addSummaries(summaries)
}

async function fuzzProgram(
  directory: string,
  { target, path }: Artifact,
  variant: 'fuzz' | 'libfuzzer',
  seconds: number,
): Promise<TestSummary> {
  const corpus = join(directory, 'build', variant, 'corpus', target.name)
  mkdirSync(corpus, { recursive: true })
  const seeds = join(directory, 'csrc/fuzz/seeds', target.name)
  const given = existsSync(seeds) ? [seeds] : []
  const args =
    variant === 'fuzz'
      ? ['--seconds', String(seconds), '--corpus', corpus, ...given.flatMap((seed) => ['--seeds', seed])]
      : [`-max_total_time=${seconds}`, `-artifact_prefix=${corpus}/../`, '-print_final_stats=1', corpus, ...given]
  process.stdout.write(`${target.name} (${variant}), ${seconds} s\n`)
  const code = await runVisibly(path, args, { cwd: directory })
  return explainExitCode({ passed: code === 0 ? 1 : 0, failed: 0, failures: [] }, code, `${target.name} (${variant})`)
}

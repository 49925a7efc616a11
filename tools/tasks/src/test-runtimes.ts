/**
 * The command `pnpm test:runtimes [--runtime bun,deno] [--package core,scope] [--soak] [files]`, which builds once, and runs the tests of
 * packages in Bun and Deno. `files` are parts of the paths of test files, by default all. Only the tests of a list may fail, and at most
 * 3 of 100 tests of a package; docs/runtimes.md has the reasons. At the end, Node.js runs the tests that start programs in both runtimes,
 * such as a server under load. `--soak` runs instead the files whose tests look for what many rounds leave, with more rounds.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { installRuntime, testedRuntimes, testedVersion, type TestedRuntime } from '@tenon/config/runtimes'
import { runMain, ToolError } from '@tenon/build'

import { addSummaries, printCounts, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { runVisibly } from './lib/run-tool.ts'
import { knownIn } from './lib/runtime-failures.ts'
import { build } from './lib/turbo.ts'
import { runVitest } from './lib/vitest.ts'

const packages = ['core', 'scope', 'tstring', 'custom-call', 'packed-func', 'isolate', 'tenon']

/** The packages whose `test/runtimes.test.ts` starts programs in each runtime that is installed. */
const starters = [
  { name: 'tenon', directory: join(root, 'packages/tenon') },
  { name: '@tenon/serve', directory: join(root, 'packages/serve') },
]

/** The files of `--soak`: ends of workers, crashes of isolated kernels, and memory that grows. */
const soakFiles = ['worker-terminate', 'worker-end', 'leaks.soak', 'slopes.soak', 'isolate-crashes.soak']
const ofSoak = { TENON_SOAK: '1', TENON_CRASHES: '2000' }

/** The most tests of a package that may fail, of 100. */
const MOST_FAILURES = 3

await runMain(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runtime: { type: 'string', default: testedRuntimes.join(',') },
      package: { type: 'string' },
      soak: { type: 'boolean', default: false },
    },
  })
  const runtimes = listOf('--runtime', values.runtime, testedRuntimes) as TestedRuntime[]
  const tested = values.package === undefined ? packages : listOf('--package', values.package, packages)
  const isWhole = positionals.length === 0 && !values.soak
  await build([...tested, ...(isWhole ? ['serve'] : [])].map((name) => `--filter=./packages/${name}...`))
  const files = values.soak
    ? [...(positionals.length > 0 ? positionals : soakFiles), '--testTimeout=14400000']
    : positionals

  const summaries: TestSummary[] = []
  for (const runtime of runtimes) {
    const path = installRuntime(runtime)
    process.stdout.write(`tests in ${runtime} ${testedVersion(runtime)}: ${path}\n`)
    for (const name of tested) {
      const found = await runIn(runtime, path, name, files, values.soak ? ofSoak : {})
      summaries.push(printCounts(judge(found, runtime, name, isWhole), `${name} (${runtime})`))
    }
  }
  if (isWhole) {
    for (const starter of starters) {
      const found = await runVitest(starter, 'runtimes', ['test/runtimes.test.ts'], {})
      summaries.push(printCounts(found, `${starter.name} (programs)`))
    }
  }
  printSummary(addSummaries(summaries))
})

function listOf(flag: string, text: string, known: readonly string[]): string[] {
  const names = text.split(',')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new ToolError(`${flag} must be a list of ${known.join(', ')} with commas, got ${text}`)
  return names
}

/** Runs vitest in a runtime, which starts its own processes. No test is tried again. */
async function runIn(
  runtime: TestedRuntime,
  path: string,
  name: string,
  files: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<TestSummary> {
  const directory = join(root, 'packages', name)
  const report = join(directory, `reports/${runtime}.json`)
  rmSync(report, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const preload = join(root, 'tools/config/src/vitest-in-bun.ts')
  const start = runtime === 'bun' ? ['--bun', '--preload', preload, vitest] : ['run', '--allow-all', vitest]
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  // The exit code says nothing, because tests of the list fail.
  await runVisibly(path, [...start, 'run', '--retry=0', '--passWithNoTests', ...reporters, ...files], {
    cwd: directory,
    env: { NO_COLOR: '1', ...env },
  })
  return readReport(report, `${name} (${runtime})`)
}

/** Takes out the failures that the list has. A failure of the list that a run of all files does not have is one as well. */
function judge(found: TestSummary, runtime: TestedRuntime, name: string, isWhole: boolean): TestSummary {
  const known = knownIn(runtime, name)
  const label = `${name} (${runtime}): `
  const isKnown = (line: string): boolean => known.some(({ title }) => line.startsWith(label + title))
  const others = found.failures.filter((line) => !isKnown(line))
  const failures = [...others]
  if (isWhole) {
    const outdated = known.filter(
      ({ title, isRare }) => !isRare && !found.failures.some((line) => line.startsWith(label + title)),
    )
    failures.push(
      ...outdated.map(({ title }) => `${label}${title}: passes or is gone, so it does not belong to the list`),
    )
    const total = found.passed + found.failed
    process.stdout.write(`${label}${((100 * found.passed) / total).toFixed(1)} % of ${total} pass\n`)
    if (found.failed * 100 > MOST_FAILURES * total)
      failures.push(`${label}more than ${MOST_FAILURES} % of its tests fail`)
  }
  return { ...found, failed: failures.length, failures }
}

/**
 * The command `pnpm coverage [--filter package] [--add]`, which runs the tests and counts which lines of TypeScript and C run. The native code
 * is a debug build with the counters of gcc. With `--add`, the counts of the packages of earlier runs stay.
 */
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { buildPackage, loadPackage, runMain, runNativeTests, ToolError } from '@tenon/build'
import { runCommand } from '@tenon/build/internal'

import { writeCampaign } from './lib/campaign-report.ts'
import { coverageTables } from './lib/coverage-report.ts'
import {
  addCounts,
  addToKnownLines,
  type IstanbulReport,
  type LineCounts,
  parseCounts,
  printCounts,
  readGcov,
  readIstanbul,
} from './lib/line-counts.ts'
import { readProcessCounts } from './lib/process-counts.ts'
import { addSummaries, printCounts as printTests, printSummary, readReport, type TestSummary } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { captureTool } from './lib/run-tool.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, runVitest, type TestedPackage } from './lib/vitest.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

/** The variant that debuggers use has the flags that counters need, and every package can load it. */
const VARIANT = 'debug'

/** What a run of one package's tests found, which `--add` keeps in `reports/coverage.json` of the package. */
interface Found {
  readonly summary: TestSummary
  /** The version of {@link printCounts}. */
  readonly typescript: string
}

const notes = [
  'TypeScript is counted by V8 in the processes of vitest, and in the processes and workers that tests start. C is counted by gcc in the',
  'test programs in C and in every process that loads a debug build with its counters. Lines of a package also count when the',
  'tests of another package run them. Code for other systems is not compiled here and not counted.',
  '',
  'A process that a signal ends, or that ends with `_exit()`, loses its counts. The tests of crashes, the workers of isolated kernels',
  '(`csrc/host`, `script-host`) and the drivers and executors of pools end like that, so the lines that only they run are missing.',
  '',
  'The native code is not optimized. Tests that name the frames of a backtrace fail if they find one that the optimizer removes.',
]

await runMain(async () => {
  const start = new Date()
  const { values } = parseArgs({
    options: { filter: { type: 'string', multiple: true, default: [] }, add: { type: 'boolean', default: false } },
  })
  if (process.platform !== 'linux') throw new ToolError('coverage requires Linux and gcc')
  const filters = values.filter.map((filter) => `--filter=${filter}`)
  const packages = await listPackages()
  const native = withNativeTargets(packages)
  if (!values.add) for (const { directory } of packages) forget(directory)
  // Workers and child processes start from dist.
  await build(filters)
  const tested = await listTestedPackages(filters)
  for (const { directory } of native)
    await buildPackage(await loadPackage(directory), {
      variant: VARIANT,
      coverage: true,
      kinds: ['shared', 'addon', 'executable'],
    })
  for (const { directory } of packages) await mapPrograms(directory)
  for (const pkg of tested) await measure(pkg)

  const counts: LineCounts = new Map()
  const summaries: TestSummary[] = []
  for (const { directory } of packages) {
    const path = resultOf(directory)
    if (!existsSync(path)) continue
    const found = JSON.parse(readFileSync(path, 'utf8')) as Found
    summaries.push(found.summary)
    addCounts(counts, parseCounts(found.typescript))
  }
  for (const { directory } of native) addCounts(counts, await readNative(directory))
  const summary = addSummaries(summaries)
  const measured = packages.filter(({ directory }) => /\/(?:packages|examples)\/[^/]+$/.test(directory))
  const tables = [...notes, '', ...coverageTables(measured, counts, root)]
  process.stdout.write(`\n${tables.slice(notes.length + 1).join('\n')}\n`)
  printSummary(summary)
  writeCampaign('coverage', process.argv.slice(2), start, summary, tables)
})

function resultOf(directory: string): string {
  return join(directory, 'reports/coverage.json')
}

/** Deletes the counts of earlier runs. */
function forget(directory: string): void {
  rmSync(resultOf(directory), { force: true })
  for (const file of globSync(`build/${VARIANT}/objects/**/*.gcda`, { cwd: directory })) rmSync(join(directory, file))
}

/** Builds a package that has bundled programs a second time, with their source maps. */
async function mapPrograms(directory: string): Promise<void> {
  const maps = join(directory, 'reports/maps')
  rmSync(maps, { recursive: true, force: true })
  if (globSync('dist/**/*.cjs', { cwd: directory }).length === 0) return
  const result = await captureTool('tsup', ['--out-dir', maps, '--sourcemap', '--silent'], { cwd: directory })
  if (result.code !== 0) throw new ToolError(`tsup could not make the source maps of ${directory}:\n${result.stderr}`)
}

/** Runs the tests of a package, and writes what they found. */
async function measure(tested: TestedPackage): Promise<void> {
  const { name, directory } = tested
  const summaries: TestSummary[] = []
  if (existsSync(join(directory, 'native.targets.ts'))) {
    const pkg = await loadPackage(directory)
    if (pkg.native.targets.some(({ kind }) => kind === 'test')) {
      await runNativeTests(pkg, VARIANT, { coverage: true })
      const label = `${name} (native)`
      summaries.push(printTests(readReport(join(directory, 'reports/native.json'), label), label))
    }
  }
  const processes = mkdtempSync(join(tmpdir(), 'tenon-coverage-'))
  try {
    const env = { TENON_VARIANT: VARIANT, TENON_COVERAGE: processes }
    summaries.push(printTests(await runVitest(tested, 'coverage-tests', ['--mode', 'coverage'], env), name))
    const counts = readReportOf(directory)
    const files = globSync('*.json', { cwd: processes }).map((file) => join(processes, file))
    addToKnownLines(counts, await readProcessCounts(files, isMeasured))
    const found: Found = { summary: addSummaries(summaries), typescript: printCounts(counts) }
    mkdirSync(join(directory, 'reports'), { recursive: true })
    writeFileSync(resultOf(directory), JSON.stringify(found))
  } finally {
    rmSync(processes, { recursive: true })
  }
}

function readReportOf(directory: string): LineCounts {
  const path = join(directory, 'reports/coverage/coverage-final.json')
  if (!existsSync(path)) throw new ToolError(`vitest wrote no coverage to ${path}`)
  return readIstanbul(JSON.parse(readFileSync(path, 'utf8')) as IstanbulReport)
}

/** Whether a script is code of a package or an example. */
function isMeasured(path: string): boolean {
  return path.startsWith(root) && /^[/\\]?(?:packages|examples)\/[^/]+\/(?:src|dist)\//.test(path.slice(root.length))
}

/** The lines of the objects of a package that gcc compiled, also if they never ran. */
async function readNative(directory: string): Promise<LineCounts> {
  const objects = globSync(`build/${VARIANT}/objects/**/*.gcno`, { cwd: directory })
  if (objects.length === 0) return new Map()
  const result = await runCommand('gcov', ['--json-format', '--stdout', ...objects], { cwd: directory })
  if (result.code !== 0) throw new ToolError(`gcov could not read the counts:\n${result.stderr}`)
  return readGcov(result.stdout, directory)
}

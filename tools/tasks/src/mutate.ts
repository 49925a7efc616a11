/**
 * The command `pnpm mutate --filter package [--files glob] [--minutes N] [--concurrency N] [--report directory]`, which changes the sources of a
 * package in one place at a time, and runs the tests that reach the place. Results stay in `node_modules/.cache/tenon/mutation`, so that the next run measures only
 * what has changed and what the run before did not reach.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain, ToolError } from '@tenon/build'
import { checkoutCommit } from '@tenon/config/checkout-commit'

import { root } from './lib/root.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, type TestedPackage } from './lib/vitest.ts'
import { leftOutFile, type LeftOutTest } from './mutation/messages.ts'
import { folderTable, mutationReport, type PackageResult } from './mutation/report.ts'
import {
  countByFolder,
  type EquivalentMutant,
  markEquivalent,
  readResults,
  type StrykerReport,
} from './mutation/results.ts'
import { strykerOptions } from './mutation/stryker-options.ts'

const cache = join(root, 'node_modules/.cache/tenon/mutation')
const equivalentFile = join(import.meta.dirname, '../equivalent-mutants.json')

await runMain(async () => {
  const { filters, files, deadline, concurrency, report } = readOptions()
  const packages = await listTestedPackages(filters)
  await build(filters)
  const measured: PackageResult[] = []
  const faults: string[] = []
  for (const tested of packages) {
    if (!existsSync(join(tested.directory, 'src'))) continue
    if (Date.now() >= deadline) {
      process.stdout.write(`${tested.name}: not measured, because the time is over\n`)
      continue
    }
    await runStryker(tested, files, deadline, concurrency)
    const { result, faults: own } = collect(tested)
    measured.push(result)
    faults.push(...own)
  }
  for (const { survived } of measured)
    for (const { file, line, text, code, mutant, outcome } of survived)
      process.stdout.write(`${file}:${line}: ${outcome}\n${JSON.stringify({ file, text, code, mutant }, null, 2)}\n`)
  process.stdout.write(`\n${folderTable(measured).join('\n')}\n`)
  if (report !== undefined) writeReport(report)
  if (faults.length > 0) throw new ToolError(`${relative(root, equivalentFile)} is wrong:\n${faults.join('\n')}`)
})

function readOptions(): {
  filters: string[]
  files: string[]
  deadline: number
  concurrency: number
  report: string | undefined
} {
  const { values } = parseArgs({
    options: {
      filter: { type: 'string', multiple: true, default: [] },
      files: { type: 'string', multiple: true, default: ['src/**/*.ts'] },
      minutes: { type: 'string' },
      concurrency: { type: 'string', default: '1' },
      report: { type: 'string' },
    },
  })
  const { minutes = 'Infinity', concurrency, report } = values
  if (values.filter.length === 0) throw new ToolError('mutate needs a package: --filter @tenon/core')
  if (!(Number(minutes) > 0)) throw new ToolError(`--minutes must be a number above 0, got ${minutes}`)
  if (!Number.isInteger(Number(concurrency)) || Number(concurrency) < 1)
    throw new ToolError(`--concurrency must be a whole number above 0, got ${concurrency}`)
  return {
    filters: values.filter.map((filter) => `--filter=${filter}`),
    files: values.files,
    deadline: Date.now() + Number(minutes) * 60_000,
    concurrency: Number(concurrency),
    report: report === undefined ? undefined : resolve(report),
  }
}

function cacheOf(name: string): string {
  return join(cache, name.replace('@', '').replace('/', '-'))
}

/** Measures a package until the deadline. @throws {ToolError} if tests fail without mutants. */
async function runStryker(
  { name, directory }: TestedPackage,
  files: readonly string[],
  deadline: number,
  concurrency: number,
): Promise<void> {
  mkdirSync(cacheOf(name), { recursive: true })
  const options = strykerOptions(files, cacheOf(name), concurrency)
  const plan = join(cacheOf(name), 'plan.json')
  rmSync(plan, { force: true })
  const script = join(import.meta.dirname, 'mutation/run-stryker.ts')
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    cwd: directory,
    stdio: 'inherit',
    env: { ...process.env, TENON_MUTATE_CACHE: cacheOf(name) },
  })
  // Stryker saves what it has measured, and restores the sources.
  let isOver = false
  const stop = (): void => void child.kill('SIGTERM')
  const left = deadline - Date.now()
  const timer = left < 2 ** 31 ? setTimeout(() => ((isOver = true), stop()), left) : undefined
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  const code = await new Promise<number | null>((end, reject) => child.on('error', reject).on('close', end))
  clearTimeout(timer)
  process.off('SIGINT', stop)
  process.off('SIGTERM', stop)
  checkRestored(directory)
  if (code !== 0 && !isOver) throw new ToolError(`Stryker ended with exit code ${code} in ${name}`)
  if (!existsSync(plan)) throw new ToolError(`the time is over before the tests of ${name} ran once`)
  if (isOver) process.stdout.write(`${name}: the time is over; what was not measured is counted below\n`)
}

/** @throws {ToolError} if a file still has mutants, as after a crash of the machine. */
function checkRestored(directory: string): void {
  const changed = globSync('src/**/*.ts', { cwd: directory }).filter((file) =>
    readFileSync(join(directory, file), 'utf8').includes('stryMutAct_'),
  )
  if (changed.length > 0)
    throw new ToolError(
      `Stryker did not restore these files of ${directory}, which git restores:\n${changed.join('\n')}`,
    )
}

/** Reads what is known of a package, from this run and those before. */
function collect({ name, directory }: TestedPackage): { result: PackageResult; faults: string[] } {
  const read = <T>(file: string, otherwise: T): T =>
    existsSync(join(cacheOf(name), file))
      ? (JSON.parse(readFileSync(join(cacheOf(name), file), 'utf8')) as T)
      : otherwise
  const folder = relative(root, directory)
  const report = read<StrykerReport>('incremental.json', { files: {} })
  const plan = Object.entries(read<Record<string, number>>('plan.json', {}))
  const equivalents = JSON.parse(readFileSync(equivalentFile, 'utf8')) as EquivalentMutant[]
  const { results, faults } = markEquivalent(readResults(report, folder), equivalents)
  const result: PackageResult = {
    package: name,
    commit: checkoutCommit(root),
    date: new Date().toISOString(),
    folders: Object.fromEntries(
      countByFolder(results, Object.fromEntries(plan.map(([file, count]) => [`${folder}/${file}`, count]))),
    ),
    survived: results.filter(({ outcome }) => outcome === 'survived' || outcome === 'no coverage'),
    leftOut: read<LeftOutTest[]>(leftOutFile(''), []),
  }
  writeFileSync(join(cacheOf(name), 'result.json'), JSON.stringify(result))
  return { result, faults }
}

/** Writes `mutation.md` and `mutation.json` with the packages that were measured, in this run or before. */
function writeReport(directory: string): void {
  const results = globSync('*/result.json', { cwd: cache })
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(cache, file), 'utf8')) as PackageResult)
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'mutation.md'), mutationReport(results))
  writeFileSync(join(directory, 'mutation.json'), `${JSON.stringify(results, null, 2)}\n`)
}

/**
 * The command `pnpm mutate:native [--topic base,call] [--files glob] [--minutes N] [--jobs N] [--vitest files] [--report directory] [--fresh]`, which
 * changes the C core in one place at a time, and finds the changes that no test notices. Results are kept in node_modules/.cache.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { parseArgs } from 'node:util'

import { loadPackage, runMain, ToolError } from '@tenon/build'
import { withLock } from '@tenon/build/internal'
import { checkoutCommit } from '@tenon/config/checkout-commit'

import { findConfinement } from './confinement.ts'
import { type EquivalentMutants, equivalentReasons } from './equivalents.ts'
import { findMutants } from './find-mutants.ts'
import { measureMutants } from './measure.ts'
import { mutantKey, topicOf } from './mutant.ts'
import type { NumberedMutant } from './render.ts'
import { describe, figuresBy, figuresTable, type Outcome, printReport, reportAsJson } from './report.ts'
import { Results } from './results.ts'
import { buildScratch, type Scratch } from './scratch.ts'
import { hashWithIncludes, listSources, readSource } from './sources.ts'
import { loadParser } from './syntax.ts'
import { listTestFiles, type TestFile } from './test-files.ts'
import equivalents from '../equivalent-mutants.json' with { type: 'json' }

const root = join(import.meta.dirname, '../../..')
const cache = join(root, 'node_modules/.cache/mutate-native')

// Two runs would mix their objects.
await runMain(() => withLock(join(cache, 'lock'), mutate))

async function mutate(): Promise<void> {
  const { values } = parseArgs({
    options: {
      topic: { type: 'string', multiple: true, default: [] },
      files: { type: 'string', default: '**' },
      minutes: { type: 'string', default: '60' },
      jobs: { type: 'string', default: '3' },
      vitest: { type: 'string', multiple: true, default: [] },
      report: { type: 'string' },
      fresh: { type: 'boolean', default: false },
    },
  })
  const minutes = positive('--minutes', values.minutes)
  const jobs = positive('--jobs', values.jobs)
  const end = performance.now() + minutes * 60_000
  const confinement = await findConfinement()
  const pkg = await loadPackage(join(root, 'packages/core'))
  const topics = values.topic.flatMap((names) => names.split(','))
  const all = listSources(pkg)
  for (const topic of topics)
    if (!all.some((file) => topicOf(file) === topic)) throw new ToolError(`the core has no topic ${topic}`)
  const files = all.filter(
    (file) => (topics.length === 0 || topics.includes(topicOf(file))) && matchesGlob(file, values.files),
  )
  if (files.length === 0) throw new ToolError(`no source of the core matches ${values.files}`)

  const parse = await loadParser()
  const found: NumberedMutant[] = files
    .flatMap((file) => findMutants(file, readSource(pkg, file), parse))
    .map((mutant, index) => ({ ...mutant, number: index + 1 }))
  const reasons = equivalentReasons(equivalents as EquivalentMutants[], found, new Set(files))
  say(`${found.length} mutants in ${files.length} files; building them`)
  const scratch = await buildScratch(pkg, join(cache, 'core'), found)
  const place = { directory: scratch.pkg.directory, confinement }
  const named = values.vitest.map((file) => vitestFile(file, scratch))
  const tests = [...(await listTestFiles(scratch.programs, place)), ...named]
  const resultsPath = join(cache, 'results.json')
  if (values.fresh) rmSync(resultsPath, { force: true })

  const outcomes = new Map<number, Outcome>()
  for (const mutant of scratch.mutants) outcomes.set(mutant.number, { mutant, status: 'not measured' })
  const wrong: string[] = []
  say(`${scratch.mutants.length} compile; ${tests.length} files have tests; ${minutes} minutes`)
  let count = 0
  await measureMutants({
    mutants: scratch.mutants,
    tests,
    place,
    results: new Results(resultsPath),
    hashOfFile: hashWithIncludes(pkg),
    end,
    jobs,
    leastLimitMs: 10_000,
    onResult: (mutant, { status, by }, isNew) => {
      const isEquivalent = reasons.has(mutantKey(mutant))
      if (isEquivalent && by !== undefined) wrong.push(`${mutantKey(mutant)}, killed by ${by}`)
      outcomes.set(mutant.number, { mutant, status: isEquivalent ? 'equivalent' : status, by })
      count++
      if (isNew && count % 100 === 0) say(`${count} of ${scratch.mutants.length}`)
    },
  })

  if (wrong.length > 0) throw new ToolError(`equivalent mutants that a test kills:\n${wrong.join('\n')}`)
  const list = [...outcomes.values()]
  const surviving = list.filter(({ status }) => status === 'survived' || status === 'not covered')
  for (const { mutant, status } of surviving) process.stdout.write(`${mutant.file}:${describe(mutant, status)}\n`)
  process.stdout.write(
    `\n${figuresTable(
      'topic',
      figuresBy(list, ({ file }) => topicOf(file)),
    ).join('\n')}\n`,
  )
  const left = list.filter(({ status }) => status === 'not measured').length
  if (left > 0)
    process.stdout.write(`\nThe time was over: ${left} mutants were not measured. Run the command again to go on.\n`)
  if (values.report !== undefined) {
    const command = ['pnpm mutate:native', ...process.argv.slice(2)].join(' ')
    const run = { command, commit: checkoutCommit(root), date: new Date().toISOString().slice(0, 10) }
    mkdirSync(values.report, { recursive: true })
    writeFileSync(join(values.report, 'mutation-native.md'), printReport(run, list))
    writeFileSync(join(values.report, 'mutation-native.json'), reportAsJson(run, list))
  }
}

/** A file of tests in TypeScript, which load the core that has mutants. */
function vitestFile(file: string, { library }: Scratch): TestFile {
  const [, folder, argument] = /^(packages\/[^/]+)\/(test\/.+\.test\.ts)$/.exec(file) ?? []
  if (folder === undefined || argument === undefined || !existsSync(join(root, file)))
    throw new ToolError(`--vitest must name files like packages/tstring/test/x.test.ts, got ${file}`)
  const program = join(root, 'node_modules/.bin/vitest')
  return {
    program: file,
    file: `../../${file}`,
    command: [program, 'run', '--reporter=dot'],
    argument,
    directory: join(root, folder),
    env: { TENON_CORE_LIBRARY: library },
  }
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new ToolError(`${name} must be a positive number, got ${text}`)
  return value
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

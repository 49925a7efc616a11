/**
 * The command `pnpm test:headers [--install] [--report] [package...]`, which reads the headers of many packages of Debian and compares what was read with gcc and
 * clang: every layout, enumerator, constant and size as a static assertion, and every function as a second declaration. `--install` installs
 * the packages with apt-get first, and `--report` writes what came of it to `docs/reports/headers.md`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, type Outcome, report, reportMissing } from '@tenon/config/conformance'

import { readModel } from '../src/index.ts'
import { readDeclarations } from '../src/read/declarations.ts'
import { tokenize } from '../src/read/tokens.ts'
import { assertionsOf, declarationOf } from './assertions.ts'
import { campaign as all } from './packages.ts'

const compilers = ['gcc', 'clang']
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const campaign = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))

const apt = (...args: string[]): void => {
  const { status } = spawnSync('apt-get', args, {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed`)
}
if (process.argv.includes('--install')) {
  apt('update', '-q')
  apt('install', '-y', '-q', '--no-install-recommends', ...compilers, ...new Set(campaign.map(({ name }) => name)))
}

const missing = [
  ...compilers.filter((name) => spawnSync(name, ['--version']).status !== 0),
  ...campaign.filter(({ name }) => spawnSync('dpkg', ['-s', name]).status !== 0).map(({ name }) => name),
]

const directory = mkdtempSync(join(tmpdir(), 'tenon-headers-'))
const counts = { functions: 0, records: 0, constants: 0, assertions: 0, redeclared: 0 }
const rows: (readonly (number | string)[])[] = []

/** Reads the headers of a package, and lets each compiler check what was read. */
async function compare(set: (typeof all)[number], index: number): Promise<void> {
  const { headers, flags = [] } = set
  const model = await readModel(
    headers.map((header) => `<${header}>`),
    { flags },
  )
  const includes = headers.map((header) => `#include <${header}>\n`).join('')
  const unit = join(directory, `${index}.c`)
  writeFileSync(unit, includes)
  const { stdout } = spawnSync('gcc', ['-E', '-dD', ...flags, unit], { encoding: 'utf8', maxBuffer: 1 << 28 })
  const { functions, problems } = readDeclarations(tokenize(stdout).tokens)
  if (problems.length > 0)
    throw new Error(problems.map(({ place, message }) => `${place.file}:${place.line}: ${message}`).join('\n'))
  const bound = new Set(model.functions.map(({ name }) => name))
  const declared = [...functions.values()]
    .filter(({ name }) => bound.has(name))
    .flatMap((one) => {
      const text = declarationOf(one)
      return text === undefined ? [] : [`#undef ${one.name}`, text]
    })
  const assertions = assertionsOf(model)
  const records = model.records.filter(({ layout }) => layout).length
  counts.functions += model.functions.length
  counts.records += records
  counts.constants += model.constants.length
  counts.assertions += assertions.length
  counts.redeclared += declared.length / 2
  const { stdout: version } = spawnSync('dpkg-query', ['-W', '-f', '${Version}', set.name], { encoding: 'utf8' })
  rows.push([
    set.name,
    version,
    headers.join(', '),
    model.functions.length,
    records,
    model.constants.length,
    assertions.length,
  ])
  writeFileSync(unit, `${includes}${assertions.join('\n')}\n${declared.join('\n')}\n`)
  for (const compiler of compilers) {
    // The reader leaves the qualifier out, which no binding needs.
    const limit = compiler === 'gcc' ? '-fmax-errors=5' : '-ferror-limit=5'
    const { status, stderr } = spawnSync(compiler, ['-fsyntax-only', '-w', '-Dvolatile=', limit, ...flags, unit], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`${compiler}:\n${stderr.slice(0, 3000)}`)
  }
}

if (missing.length > 0) reportMissing('pnpm test:headers', [...missing, 'Run pnpm test:headers --install'])
else {
  const outcomes: Outcome[] = []
  for (const [index, set] of campaign.entries())
    outcomes.push(await check(`${set.name}: ${set.headers.join(', ')}`, () => compare(set, index)))
  rmSync(directory, { recursive: true })
  const { functions, records, constants, assertions, redeclared } = counts
  const sum = `${campaign.length} sets of headers: ${functions} functions (${redeclared} declared again), ${records} structs and unions, ${constants} constants; ${assertions} assertions by each of ${compilers.join(' and ')}`
  process.stdout.write(`\n${sum}\n`)
  report(outcomes)
  if (process.argv.includes('--report')) writeReport(sum, outcomes)
}

function writeReport(sum: string, outcomes: readonly Outcome[]): void {
  const failed = outcomes.filter(({ problem }) => problem !== undefined)
  const firstLine = (command: string, ...args: readonly string[]): string =>
    spawnSync(command, args, { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
  const lines = [
    '# pnpm test:headers',
    '',
    'Headers of Debian, read by `tenon bind` and compiled again: each offset, each size and sign of a member, each constant and each size of a',
    'variable as a static assertion, and each function as a second declaration, which a compiler refuses if one type in it differs.',
    '',
    `Written by \`pnpm test:headers --install --report\` on ${new Date().toISOString().slice(0, 10)}.`,
    '',
    `- Commit: ${firstLine('git', 'rev-parse', '--short=8', 'HEAD')}`,
    `- Compilers: ${compilers.map((name) => firstLine(name, '--version')).join('; ')}`,
    `- Compared: ${sum}`,
    `- Result: **${outcomes.length - failed.length} passed, ${failed.length} failed**`,
    ...failed.map(({ name, problem }) => `  - ${name}: ${problem}`),
    '',
    '| package | version | headers | functions | structs | constants | assertions |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    '',
  ]
  writeFileSync(fileURLToPath(new URL('../../../docs/reports/headers.md', import.meta.url)), lines.join('\n'))
}

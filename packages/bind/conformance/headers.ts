/**
 * The command `pnpm test:headers [--install] [package...]`, which reads the headers of many packages of Debian and compares what was read with gcc and
 * clang: every layout, enumerator, constant and size as a static assertion, and every function as a second declaration. `--install` installs
 * the packages with apt-get first.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** Reads the headers of a package, and lets each compiler check what was read. */
async function compare(headers: readonly string[], flags: readonly string[], index: number): Promise<void> {
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
  counts.functions += model.functions.length
  counts.records += model.records.filter(({ layout }) => layout).length
  counts.constants += model.constants.length
  counts.assertions += assertions.length
  counts.redeclared += declared.length / 2
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
  for (const [index, { name, headers, flags = [] }] of campaign.entries())
    outcomes.push(await check(`${name}: ${headers.join(', ')}`, () => compare(headers, flags, index)))
  rmSync(directory, { recursive: true })
  const { functions, records, constants, assertions, redeclared } = counts
  process.stdout.write(
    `\n${campaign.length} sets of headers: ${functions} functions (${redeclared} declared again), ${records} structs and unions, ${constants} constants; ${assertions} assertions by each of ${compilers.join(' and ')}\n`,
  )
  report(outcomes)
}

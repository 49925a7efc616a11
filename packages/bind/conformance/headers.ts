/**
 * The command `pnpm test:headers [--install] [--report] [package...]`, which reads the headers of many packages of Debian and compares what was read with gcc and
 * clang: every layout, enumerator, constant and size as a static assertion, and every function as a second declaration. gcc, clang and zig
 * must give equal modules, gcc twice. All modules are checked by two versions of TypeScript, and imported on all tested versions of Node.js.
 * `--install` installs the packages with apt-get first, and `--report` writes what came of it to `docs/reports/headers.md`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkoutCommit } from '@tenon/config/checkout-commit'
import { check, type Outcome, report, reportMissing } from '@tenon/config/conformance'
import { installPackages } from '@tenon/config/install-package'
import { testedNodes } from '@tenon/config/node-versions'
import { installZig } from '@tenon/config/zig'

import { type Model, readModel } from '../src/index.ts'
import { readDeclarations } from '../src/read/declarations.ts'
import { tokenize } from '../src/read/tokens.ts'
import { assertionsOf, declarationOf } from './assertions.ts'
import { installDebian, missingDebian } from './debian.ts'
import { expectSameModule, Modules } from './modules.ts'
import { campaign as all } from './packages.ts'
import { withCompiler } from './with-compiler.ts'

const compilers = ['gcc', 'clang']
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const campaign = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))

/** The compilers of TypeScript, by version. */
const typeCheckers: Readonly<Record<string, string>> = Object.fromEntries(
  [
    installPackages('typescript-5.9.3', { typescript: '5.9.3' }),
    fileURLToPath(new URL('../../../node_modules', import.meta.url)),
  ].map((packages) => {
    const { version } = JSON.parse(readFileSync(join(packages, 'typescript/package.json'), 'utf8')) as {
      version: string
    }
    return [version, join(packages, 'typescript/bin/tsc')]
  }),
)

const packages = campaign.map(({ name }) => name)
if (process.argv.includes('--install')) installDebian([...compilers, ...packages])
const missing = missingDebian(compilers, packages)

const directory = mkdtempSync(join(tmpdir(), 'tenon-headers-'))
const counts = { functions: 0, records: 0, constants: 0, assertions: 0, redeclared: 0 }
const rows: (readonly (number | string)[])[] = []

/** Reads the headers of a package, and lets each compiler check what was read. */
async function compare(set: (typeof all)[number], index: number, modules: Modules, zig: string): Promise<void> {
  const { headers, flags = [], byCompiler = [] } = set
  const read = (compiler: string, exclude: readonly string[] = []): Promise<Model> =>
    withCompiler(compiler, () =>
      readModel(
        headers.map((header) => `<${header}>`),
        { flags, exclude },
      ),
    )
  const start = performance.now()
  const model = await read('gcc')
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  modules.write(set.name, model)
  const same = byCompiler.length === 0 ? model : await read('gcc', byCompiler)
  for (const compiler of [...compilers, `${zig} cc`])
    expectSameModule(same, await read(compiler, byCompiler), `${compiler} gives another module`)
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
    seconds,
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
  const modules = new Modules()
  const zig = process.env['TENON_ZIG'] || installZig()
  for (const [index, set] of campaign.entries())
    outcomes.push(await check(`${set.name}: ${set.headers.join(', ')}`, () => compare(set, index, modules, zig)))
  rmSync(directory, { recursive: true })
  for (const [version, compiler] of Object.entries(typeCheckers))
    outcomes.push(await check(`types of all modules by TypeScript ${version}`, () => modules.checkTypes(compiler)))
  let exports = 0
  for (const major of testedNodes)
    outcomes.push(
      await check(`import of all modules on Node.js ${major}`, () => {
        exports = modules.import(major)
      }),
    )
  modules.close()
  const { functions, records, constants, assertions, redeclared } = counts
  const sum = `${campaign.length} sets of headers: ${functions} functions (${redeclared} declared again), ${records} structs and unions, ${constants} constants; ${assertions} assertions by each of ${compilers.join(' and ')}`
  const use = `${modules.count} modules with ${exports} exports: types checked by TypeScript ${Object.keys(typeCheckers).join(' and ')}, imported on Node.js ${testedNodes.join(', ')}`
  process.stdout.write(`\n${sum}\n${use}\n`)
  report(outcomes)
  if (process.argv.includes('--report')) writeReport(sum, use, zig, outcomes)
}

function writeReport(sum: string, use: string, zig: string, outcomes: readonly Outcome[]): void {
  const failed = outcomes.filter(({ problem }) => problem !== undefined)
  const firstLine = (command: string, ...args: readonly string[]): string =>
    spawnSync(command, args, { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
  const lines = [
    '# pnpm test:headers',
    '',
    'Headers of Debian, read by `tenon bind` and compiled again: each offset, each size and sign of a member, each constant and each size of a',
    'variable as a static assertion, and each function as a second declaration, which a compiler refuses if one type in it differs. The module of',
    'each set must have the same bytes when gcc reads the headers once more, and when clang and zig read them.',
    '',
    `Written by \`pnpm test:headers --install --report\` on ${new Date().toISOString().slice(0, 10)}.`,
    '',
    `- Commit: ${checkoutCommit(import.meta.dirname)}`,
    `- Compilers: ${compilers.map((name) => firstLine(name, '--version')).join('; ')}; zig ${firstLine(zig, 'version')}`,
    `- Compared: ${sum}`,
    `- Used: ${use}`,
    `- Result: **${outcomes.length - failed.length} passed, ${failed.length} failed**`,
    ...failed.map(({ name, problem }) => `  - ${name}: ${problem}`),
    '',
    'The last column is the time in which gcc read the headers first.',
    '',
    '| package | version | headers | functions | structs | constants | assertions | seconds |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    '',
  ]
  writeFileSync(fileURLToPath(new URL('../../../docs/reports/headers.md', import.meta.url)), lines.join('\n'))
}

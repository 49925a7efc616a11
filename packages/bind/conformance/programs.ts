/**
 * The command `pnpm test:bindings [--install] [name...]`, which binds libraries of Debian and runs the programs in `programs` with their modules.
 * `--install` installs the packages with apt-get first.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, type Outcome, report, reportMissing } from '@tenon/config/conformance'

import { installDebian, missingDebian } from './debian.ts'

/** A program, and how the module of its library is made. */
interface Program {
  readonly name: string
  readonly package: string
  readonly bind: readonly string[]
  readonly annotations?: object
}

const programs: readonly Program[] = [
  {
    name: 'zlib',
    package: 'zlib1g-dev',
    bind: ['zlib.h', '--library', 'libz.so.1', '--shim'],
    annotations: { tenon: 1, macros: { deflateInit: '(z_stream *, int) -> int' } },
  },
  { name: 'cblas', package: 'libopenblas-dev', bind: ['cblas.h', '--library', 'libopenblas.so.0', '--shim'] },
  { name: 'z3', package: 'libz3-dev', bind: ['z3.h', '--library', 'libz3.so.4'] },
  {
    name: 'curl',
    package: 'libcurl4-openssl-dev',
    bind: ['curl/curl.h', '--library', 'libcurl.so.4'],
    annotations: { tenon: 1, functions: { curl_easy_perform: { async: true } } },
  },
  {
    name: 'hdf5',
    package: 'libhdf5-dev',
    bind: ['hdf5.h', '-I', '/usr/include/hdf5/serial', '--library', 'libhdf5_serial.so.103', '--shim'],
  },
]

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const chosen = names.length === 0 ? programs : programs.filter(({ name }) => names.includes(name))
const packages = chosen.map((program) => program.package)
if (process.argv.includes('--install')) installDebian(['gcc', ...packages])

const STRICT =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --module nodenext --target esnext --types node'

/** A directory in which modules and programs find tenon. */
function makeProject(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-programs-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(join(repository, 'packages/tenon'), join(directory, 'node_modules/tenon'))
  symlinkSync(join(repository, 'node_modules/@types'), join(directory, 'node_modules/@types'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }\n')
  return directory
}

function runProgram({ name, bind, annotations }: Program, directory: string): void {
  const run = (...args: readonly string[]): void => {
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${args[0]} ended with ${signal ?? status}:\n${(stdout + stderr).slice(0, 3000)}`)
  }
  const flags = annotations === undefined ? [] : ['--annotations', `${name}.json`]
  if (annotations !== undefined) writeFileSync(join(directory, `${name}.json`), JSON.stringify(annotations))
  run(join(repository, 'packages/tenon/dist/cli.cjs'), 'bind', ...bind, ...flags, '--output', name)
  copyFileSync(fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url)), join(directory, `${name}.ts`))
  run(join(repository, 'node_modules/typescript/bin/tsc'), ...STRICT.split(' '), `${name}.ts`)
  run('--disable-warning=ExperimentalWarning', `${name}.ts`)
}

const missing = missingDebian(['gcc'], packages)
if (missing.length > 0) reportMissing('pnpm test:bindings', [...missing, 'Run pnpm test:bindings --install'])
else {
  const directory = makeProject()
  const outcomes: Outcome[] = []
  for (const program of chosen) outcomes.push(await check(program.name, () => runProgram(program, directory)))
  rmSync(directory, { recursive: true })
  report(outcomes)
}

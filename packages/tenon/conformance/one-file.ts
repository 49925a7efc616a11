/**
 * The command `pnpm test:one-file [node-24] [node-26] [bun] [deno]`, which makes one executable file of a program with kernels, in each way
 * that the runtimes have, and runs it in an empty directory: without Tenon's packages, and without the folder that it was made in. By default it
 * makes all. `deno compile` downloads a runtime, or takes the one that DENORT_BIN names.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, report, type Outcome } from '@tenon/config/conformance'
import { installPackages } from '@tenon/config/install-package'
import { findNode } from '@tenon/config/node-versions'
import { installRuntime } from '@tenon/config/runtimes'
import { build } from 'esbuild'
import { esbuildPlugin } from '../src/entries/bundler.ts'
import { expected, makeOneFileProject } from '../test/one-file-project.ts'

/** Writes a file in Node.js 24, which cannot do so itself. */
const POSTJECT = '1.0.0-alpha.6'
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const environment = { ...process.env, NODE_OPTIONS: '', NODE_PATH: '', NO_COLOR: '1', TENON_CORE_LIBRARY: '' }

/** Makes an executable of the bundle in a folder, whose files are `main.cjs` and `main.mjs`, and returns its path. */
type Make = (folder: string) => string

function run(program: string, args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}): string {
  const env = { ...environment, ...more }
  return execFileSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
  })
}

function writeSettings(folder: string, settings: object): string {
  const path = join(folder, 'sea.json')
  writeFileSync(path, JSON.stringify({ disableExperimentalSEAWarning: true, ...settings }))
  return path
}

const makers: Readonly<Record<string, Make>> = {
  'node-24': (folder) => {
    const node = findNode('24')
    const executable = join(folder, 'program')
    run(node, ['--experimental-sea-config', writeSettings(folder, { main: 'main.cjs', output: 'sea.blob' })], folder)
    copyFileSync(node, executable)
    const postject = join(installPackages(`postject-${POSTJECT}`, { postject: POSTJECT }), 'postject/dist/cli.js')
    run(node, [postject, executable, 'NODE_SEA_BLOB', 'sea.blob', '--sentinel-fuse', FUSE], folder)
    return executable
  },
  'node-26': (folder) => {
    const settings = { main: 'main.mjs', mainFormat: 'module', output: 'program' }
    run(findNode('26'), ['--build-sea', writeSettings(folder, settings)], folder)
    return join(folder, 'program')
  },
  bun: (folder) => {
    run(installRuntime('bun'), ['build', '--compile', 'main.mjs', '--outfile', 'program'], folder)
    return join(folder, 'program')
  },
  deno: (folder) => {
    run(installRuntime('deno'), ['compile', '--allow-all', '--output', 'program', 'main.mjs'], folder)
    return join(folder, 'program')
  },
}

async function bundle(source: string, folder: string): Promise<void> {
  for (const format of ['esm', 'cjs'] as const) {
    await build({
      entryPoints: [source],
      bundle: true,
      platform: 'node',
      format,
      outfile: join(folder, format === 'esm' ? 'main.mjs' : 'main.cjs'),
      logLevel: 'silent',
      plugins: [esbuildPlugin({ libraries: 'inside' })],
    })
  }
}

/** Runs an executable alone in an empty directory, twice: the second time, the libraries are in the cache. */
function runAlone(executable: string): void {
  const empty = mkdtempSync(join(tmpdir(), 'tenon-alone-'))
  try {
    const place = join(empty, 'program')
    renameSync(executable, place)
    const cache = join(empty, 'cache')
    for (const time of ['first', 'second']) {
      const printed = run(place, [], empty, { TENON_CACHE_DIR: cache })
      if (printed !== expected) throw new Error(`the ${time} run must print\n${expected}got\n${printed}`)
    }
    if (readdirSync(join(cache, 'files')).length === 0) throw new Error('the cache has no files')
  } finally {
    rmSync(empty, { recursive: true })
  }
}

const chosen = process.argv.slice(2)
const unknown = chosen.find((name) => makers[name] === undefined)
if (unknown !== undefined) throw new Error(`${unknown} must be one of ${Object.keys(makers).join(', ')}`)

const outcomes: Outcome[] = []
const project = makeOneFileProject()
const folder = mkdtempSync(join(tmpdir(), 'tenon-executables-'))
try {
  await bundle(project.source, folder)
  project.remove()
  for (const [name, make] of Object.entries(makers)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const own = join(folder, name)
    mkdirSync(own)
    for (const file of ['main.mjs', 'main.cjs']) copyFileSync(join(folder, file), join(own, file))
    outcomes.push(
      await check(`${name}: one file with kernels runs in an empty directory`, () => {
        const executable = make(own)
        process.stdout.write(`${name}: ${(statSync(executable).size / 1e6).toFixed(0)} MB\n`)
        runAlone(executable)
      }),
    )
    rmSync(own, { recursive: true })
  }
} finally {
  rmSync(folder, { recursive: true })
}
report(outcomes)

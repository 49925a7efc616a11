import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hostPlatformName } from '@tenon/binary'
import { coreLibrary, libraryFileName } from '@tenon/core/internal'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { fingerprint } from '../src/native/fingerprint.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The names of the files of a platform package that tests load. */
export const shipped = [
  libraryFileName('tenon'),
  libraryFileName('tenon_guard'),
  libraryFileName('tenon_packed'),
  'tenon.node',
]

/** A project with an installed `@tenon/core`, as package managers lay it out. */
export interface InstalledCore {
  readonly project: string
  /** The directory of `@tenon/core`. */
  readonly core: string
  /** The directory of the libraries of the platform package. */
  readonly libraries: string
  /** Runs the text of a module in the project. */
  readonly run: (source: string, options?: Parameters<typeof runScript>[1]) => Promise<ScriptResult>
}

/** Installs the built package, with the libraries of the variant under test, below a directory. koffi is an optional peer. */
export function installCore(below: string, { withPlatform = true, withKoffi = false } = {}): InstalledCore {
  const project = mkdtempSync(join(below, 'project-'))
  const scope = join(project, 'node_modules/@tenon')
  const core = join(scope, 'core')
  cpSync(join(root, 'dist'), join(core, 'dist'), { recursive: true, filter: (path) => extname(path) !== '.map' })
  cpSync(join(root, 'package.json'), join(core, 'package.json'))
  // Deno looks for packages where one is.
  writeFileSync(join(project, 'package.json'), '{}')
  for (const part of ['dist', 'package.json'])
    cpSync(join(root, '../binary', part), join(scope, 'binary', part), { recursive: true })
  if (withKoffi) symlinkSync(join(root, 'node_modules/koffi'), join(project, 'node_modules/koffi'), 'junction')
  const name = `@tenon/core-${hostPlatformName()}`
  const libraries = join(project, 'node_modules', name, 'lib')
  if (withPlatform) {
    mkdirSync(libraries, { recursive: true })
    const exports = { './package.json': './package.json', './lib/*': './lib/*' }
    writeFileSync(join(dirname(libraries), 'package.json'), JSON.stringify({ name, version: '0.0.0', exports }))
    for (const file of shipped) cpSync(join(dirname(coreLibrary().path), file), join(libraries, file))
    writeFileSync(join(core, 'dist/digests.json'), JSON.stringify({ [name]: digestsIn(libraries) }))
  }
  // pnpm makes its programs find the packages of the workspace through NODE_PATH.
  const ownEnv = { NODE_PATH: '', ...(!withKoffi && { TENON_DRIVER: '' }) }
  const run: InstalledCore['run'] = (source, { env, ...options } = {}) =>
    runScript(source, { cwd: project, env: { ...ownEnv, ...env }, ...options })
  return { project, core, libraries, run }
}

export const fingerprintOf = (path: string): string => fingerprint(readFileSync(path))

export function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function digestsIn(directory: string): object {
  return Object.fromEntries(
    readdirSync(directory).map((file) => {
      const path = join(directory, file)
      return [file, { fingerprint: fingerprintOf(path), sha256: digestOf(path) }]
    }),
  )
}

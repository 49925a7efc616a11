import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Finished, runTenon } from '../run-tenon.ts'

const here = dirname(fileURLToPath(import.meta.url))

/** A module whose declarations a program would import. */
// oxlint-disable-next-line typescript/no-explicit-any -- the module does not exist when the tests are compiled
export type Bound = Record<string, any>

/** The library of store.h, compiled in a directory of its own. */
export interface StoreLibrary {
  /** In the package, so that modules find tenon. */
  readonly directory: string
  readonly library: string
  readonly header: string
  readonly annotations: string
  bind(...args: string[]): Finished
  load(name: string): Promise<Bound>
}

/** Compiles the library. The caller removes the directory. */
export function compileStore(): StoreLibrary {
  const directory = mkdtempSync(join(here, 'module-'))
  const library = join(directory, 'libstore.so')
  const header = join(here, 'store.h')
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', library, join(here, 'store.c'), '-lm'])
  return {
    directory,
    library,
    header,
    annotations: join(here, 'store.json'),
    bind: (...args) => runTenon(['bind', header, '--library', library, ...args], { cwd: directory }),
    load: async (name) => (await import(pathToFileURL(join(directory, name, 'index.js')).href)) as Bound,
  }
}

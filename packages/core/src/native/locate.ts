import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LoadError } from '../errors/kinds.ts'

/** Where the core's library may be, and why that place is looked at. */
export interface Candidate {
  readonly path: string
  readonly origin: 'TENON_CORE_LIBRARY' | 'workspace build' | 'platform package'
}

/** The directory of this package, found from this file wherever it was bundled to. */
function findPackage(): { directory: string; version: string } {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const manifest = join(directory, 'package.json')
    if (existsSync(manifest)) {
      const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string; version?: string }
      if (name === '@tenon/core' && version !== undefined) return { directory, version }
    }
    if (directory === dirname(directory)) {
      throw new LoadError('@tenon/core must be installed as a package, its package.json was not found', {
        hint: 'keep @tenon/core out of the bundle: mark it as external.',
      })
    }
  }
}

let found: ReturnType<typeof findPackage> | undefined

/** This copy of `@tenon/core`: its directory and version. */
export function corePackage(): { readonly directory: string; readonly version: string } {
  return (found ??= findPackage())
}

/** `linux-x64` and so on: the name of the platform as packages have it. */
export const platformName: string = `${process.platform}-${process.arch}`

/** A library's file name on this platform: `libtenon.so`. */
export function libraryFileName(name: string): string {
  if (process.platform === 'win32') return `${name}.dll`
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}

/**
 * Where the core's library is looked for, in order: the file that `TENON_CORE_LIBRARY` names (then nowhere else), the
 * build of the workspace, the platform package.
 */
export function candidates(environment: NodeJS.ProcessEnv = process.env): Candidate[] {
  const explicit = environment['TENON_CORE_LIBRARY']
  if (explicit !== undefined && explicit !== '') return [{ path: explicit, origin: 'TENON_CORE_LIBRARY' }]
  const file = libraryFileName('tenon')
  const build = join(corePackage().directory, 'build', environment['TENON_VARIANT'] ?? 'release', file)
  const packaged = platformPackage(file)
  return [
    { path: build, origin: 'workspace build' },
    ...(packaged === undefined ? [] : [{ path: packaged, origin: 'platform package' } as const]),
  ]
}

function platformPackage(file: string): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`@tenon/core-${platformName}/package.json`)
    return join(dirname(manifest), 'lib', file)
  } catch {
    return undefined
  }
}

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LoadError } from '../errors/kinds.ts'

export interface Candidate {
  readonly path: string
  readonly origin: 'TENON_CORE_LIBRARY' | 'workspace build' | 'platform package'
}

/** Finds the directory of this package from this file, which may have been bundled into another directory. */
function findPackage(): { directory: string; version: string } {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const manifest = join(directory, 'package.json')
    if (existsSync(manifest)) {
      const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string; version?: string }
      if (name === '@tenon/core' && version !== undefined) return { directory, version }
    }
    if (directory === dirname(directory)) {
      throw new LoadError('the package.json of @tenon/core was not found', {
        hint: 'Mark @tenon/core as external, so that it is not bundled.',
      })
    }
  }
}

let found: ReturnType<typeof findPackage> | undefined

export function corePackage(): { readonly directory: string; readonly version: string } {
  return (found ??= findPackage())
}

/** The platform in names of packages: `linux-x64`. */
export const platformName: string = `${process.platform}-${process.arch}`

export function libraryFileName(name: string): string {
  if (process.platform === 'win32') return `${name}.dll`
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}

/** In order: only the file of `TENON_CORE_LIBRARY`, or the workspace's build, then the platform package. */
export function candidates(environment: NodeJS.ProcessEnv = process.env): Candidate[] {
  const explicit = environment['TENON_CORE_LIBRARY']
  if (explicit !== undefined && explicit !== '') return [{ path: explicit, origin: 'TENON_CORE_LIBRARY' }]
  const file = libraryFileName('tenon')
  const path = join(corePackage().directory, 'build', environment['TENON_VARIANT'] ?? 'release', file)
  const build: Candidate = { path, origin: 'workspace build' }
  try {
    const manifest = createRequire(import.meta.url).resolve(`@tenon/core-${platformName}/package.json`)
    return [build, { path: join(dirname(manifest), 'lib', file), origin: 'platform package' }]
  } catch {
    return [build] // The platform package is not installed.
  }
}

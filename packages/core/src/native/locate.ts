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

/**
 * In order: only the file of `TENON_CORE_LIBRARY`, or the workspace's build, then the platform package, which is looked up
 * only if the build cannot be used.
 */
export function* candidates(environment: NodeJS.ProcessEnv = process.env): Generator<Candidate, void, undefined> {
  const explicit = environment['TENON_CORE_LIBRARY']
  if (explicit !== undefined && explicit !== '') return void (yield { path: explicit, origin: 'TENON_CORE_LIBRARY' })
  const file = libraryFileName('tenon')
  const path = join(corePackage().directory, 'build', environment['TENON_VARIANT'] ?? 'release', file)
  yield { path, origin: 'workspace build' }
  const packageDirectory = platformPackage()
  if (packageDirectory !== undefined) yield { path: join(packageDirectory, 'lib', file), origin: 'platform package' }
}

/** The directory of the platform package, if it is installed. */
function platformPackage(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`@tenon/core-${platformName}/package.json`))
  } catch {
    return undefined
  }
}

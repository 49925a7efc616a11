import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LoadError } from '../errors/kinds.ts'
import { bundledCore, extractFiles } from './bundled-files.ts'
import { libraryOfEnvironment } from './library-of-environment.ts'
import { findPlatformPackage } from './platform-package.ts'

export interface Candidate {
  readonly path: string
  readonly origin: 'TENON_CORE_LIBRARY' | 'bundle' | 'workspace build' | 'platform package'
  /** The name of the published package that the file is in. */
  readonly package?: string
}

interface CorePackage {
  readonly directory: string
  readonly version: string
  /** Whether this is a working copy of the repository. Published packages never look for builds. */
  readonly isCheckout: boolean
}

/** Finds the directory of this package from this file, which may have been bundled into another directory, with or without the libraries. */
function findPackage(): CorePackage {
  if (bundledCore !== undefined)
    return { directory: extractFiles(bundledCore), version: bundledCore.version, isCheckout: false }
  // A bundle in CommonJS has no URL.
  const url = import.meta.url as string | undefined
  for (let directory = url === undefined ? '/' : dirname(fileURLToPath(url)); ; directory = dirname(directory)) {
    const manifest = join(directory, 'package.json')
    if (existsSync(manifest)) {
      const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string; version?: string }
      if (name === '@tenon/core' && version !== undefined) {
        return { directory, version, isCheckout: existsSync(join(directory, 'native.targets.ts')) }
      }
    }
    if (directory === dirname(directory)) {
      throw new LoadError('the package.json of @tenon/core was not found', {
        hint: `Mark @tenon/core as external, so that it is not bundled, or use a plugin of tenon/bundler with libraries: 'inside'.`,
      })
    }
  }
}

let found: CorePackage | undefined

export function corePackage(): CorePackage {
  return (found ??= findPackage())
}

export function libraryFileName(name: string): string {
  if (process.platform === 'win32') return `${name}.dll`
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}

/** The variants that `tenon-build` makes. */
const VARIANTS = ['release', 'debug', 'fast-math', 'asan', 'tsan', 'fuzz', 'libfuzzer']

/**
 * In order: only the file of `TENON_CORE_LIBRARY`, or only the file in the bundle, or the build of a checkout, then the platform package, which is looked up
 * only if the build cannot be used.
 *
 * @throws {LoadError} if `TENON_CORE_LIBRARY` or, in a checkout, `TENON_VARIANT` is not valid
 */
export function* candidates(environment: NodeJS.ProcessEnv = process.env): Generator<Candidate, void, undefined> {
  const explicit = libraryOfEnvironment('TENON_CORE_LIBRARY', environment)
  if (explicit !== undefined) return void (yield { path: explicit, origin: 'TENON_CORE_LIBRARY' })
  const file = libraryFileName('tenon')
  const { directory, isCheckout } = corePackage()
  if (bundledCore !== undefined) return void (yield { path: join(directory, file), origin: 'bundle' })
  if (isCheckout) yield { path: join(directory, 'build', variantOf(environment), file), origin: 'workspace build' }
  const installed = findPlatformPackage(directory)
  if (installed === undefined) return
  const path = join(installed.directory, 'lib', file)
  yield { path, origin: 'platform package', ...(!isCheckout && { package: installed.name }) }
}

function variantOf({ TENON_VARIANT: value }: NodeJS.ProcessEnv): string {
  const variant = value || 'release'
  if (VARIANTS.includes(variant)) return variant
  throw new LoadError(`TENON_VARIANT must be one of ${VARIANTS.join(', ')}, got ${JSON.stringify(variant)}`, {
    hint: 'Remove the variable to load the release build.',
    details: { variable: 'TENON_VARIANT', expected: VARIANTS, received: variant },
  })
}

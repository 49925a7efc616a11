import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { hostPlatformName } from '@tenon/binary'
import { checkName, wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { LoadError } from '../errors/kinds.ts'
import { libraryFileName } from './locate.ts'

/** Names a library of a package that has one package for each platform, as `tenon pack` writes them. */
export interface PlatformLibraryOptions {
  /** The name of the main package. The name of a platform package is `NAME-PLATFORM`. */
  readonly package: string
  /** The version of the main package, which its platform packages must have as well. */
  readonly version: string
  /** The published platforms, such as `linux-x64-gnu` or `darwin-arm64`. */
  readonly platforms: readonly string[]
  /** The name of the library without prefix and extension: `kernels` for `libkernels.so`. */
  readonly library: string
}

const OPTIONS = ['package', 'version', 'platforms', 'library'] as const

/**
 * Returns the path of a library in the platform package that fits this process. Modules that `tenon pack` writes call this
 * function before they open their library.
 *
 * @param from the URL of the module that needs the library (`import.meta.url`), from where the platform package is resolved
 * @throws {LoadError} if no platform package fits this process, if the fitting one is not installed, or if its version differs
 * from that of the main package. `details` has the published platforms, the platform of the process, and the installed ones
 * @throws {ArgumentError} if an argument is not valid
 */
export function platformLibrary(from: string, options: PlatformLibraryOptions): string {
  const { package: name, version, platforms, library } = checkArguments(from, options)
  const platform = hostPlatformName()
  const resolve = resolverAt(from, name)
  if (!platforms.includes(platform)) throw notPublished(name, platform, platforms)
  const wanted = `${name}-${platform}`
  const manifest = resolve(wanted)
  if (manifest === undefined) {
    const installed = platforms.filter((other) => resolve(`${name}-${other}`) !== undefined)
    throw notInstalled(name, platform, platforms, installed)
  }
  const found = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version?: unknown }
  if (found.version !== version) {
    throw new LoadError(`${name} ${version} needs ${wanted} ${version}, got ${String(found.version)} at ${manifest}`, {
      hint: `Install ${name} again, which installs both packages in the same version.`,
      details: { package: name, expected: version, received: found.version, path: manifest },
    })
  }
  return join(dirname(manifest), 'lib', libraryFileName(library))
}

function checkArguments(from: unknown, options: PlatformLibraryOptions): PlatformLibraryOptions {
  if (typeof from !== 'string') throw wrongType('from', 'the URL of a module', from, 'Pass import.meta.url.')
  const { package: name, version, platforms, library } = checkOptions(options, OPTIONS)
  if (!Array.isArray(platforms)) throw wrongType('platforms', 'an array of names of platforms', platforms)
  return {
    package: checkName(name, 'package'),
    version: checkName(version, 'version'),
    platforms: Array.from(platforms as readonly unknown[], (one) => checkName(one, 'platforms')),
    library: checkName(library, 'library'),
  }
}

/** Finds the manifests of packages as the module at `from` would. */
function resolverAt(from: string, name: string): (found: string) => string | undefined {
  let module: NodeJS.Require
  try {
    module = createRequire(from)
  } catch (cause) {
    throw new LoadError(`the module of ${name} must be a file, got ${JSON.stringify(from)}`, {
      hint: `Mark ${name} as external, so that it is not bundled.`,
      details: { package: name, received: from },
      cause,
    })
  }
  return (found) => {
    try {
      return module.resolve(`${found}/package.json`)
    } catch {
      return undefined
    }
  }
}

function notPublished(name: string, platform: string, platforms: readonly string[]): LoadError {
  return new LoadError(
    `${name} is published for ${platforms.join(', ') || 'no platform'}, this process runs on ${platform}`,
    {
      hint: 'Run it with a Node.js for one of these platforms, or ask its authors for a package for this one.',
      details: { package: name, platforms: [...platforms], platform, installed: [] },
    },
  )
}

function notInstalled(
  name: string,
  platform: string,
  platforms: readonly string[],
  installed: readonly string[],
): LoadError {
  const published = `${name} is published for ${platforms.join(', ')}, this process runs on ${platform}`
  const details = { package: name, platforms: [...platforms], platform, installed: [...installed] }
  if (installed.length > 0) {
    const others = installed.map((other) => `${name}-${other}`).join(' and ')
    return new LoadError(`${name}-${platform} is not installed, but ${others}: ${published}`, {
      hint: 'Install the packages on the system that runs them, because node_modules of another platform does not load.',
      details,
    })
  }
  return new LoadError(`no platform package of ${name} is installed: ${published}`, {
    hint: `Install ${name} again with optional dependencies, which --omit=optional and --no-optional leave out.`,
    details,
  })
}

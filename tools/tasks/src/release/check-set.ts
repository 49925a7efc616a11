import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { installedWith, type Manifest, type NpmPackage } from '@tenon/build/internal'

import { BinaryFormatError, readBinary, readTextConstants } from '../../../../packages/binary/src/index.ts'
import { CONSTANTS } from '../../../../packages/core/src/generated/layouts.ts'
import { coreDigests, coreDigestsPath } from './core-digests.ts'
import { ANY_VERSION } from './finish-package.ts'

/**
 * Returns a sentence for each reason why packages must not be published together.
 *
 * @param platformPackages the names of the platform packages of the core that are released
 */
export function findSetFaults(
  packages: readonly NpmPackage[],
  scope: string,
  platformPackages: readonly string[],
): string[] {
  const core = packages.find(({ name }) => name === `${scope}/core`)
  const umbrella = packages.find(({ name }) => name === 'tenon')
  return [
    ...packages.flatMap((pkg) => findVersions(pkg, packages)),
    ...(core ? findPlatforms(core, packages, platformPackages) : []),
    ...(umbrella ? findUmbrella(umbrella, packages, scope) : []),
    ...(core ? [...findDigests(core, packages), ...findCoreVersions(core, packages)] : []),
  ]
}

/**
 * A package must depend on exactly the versions that are published with it, because packages use internal entries of each other, which
 * may change in any version.
 */
function findVersions(pkg: NpmPackage, packages: readonly NpmPackage[]): string[] {
  const peers = Object.entries((pkg.manifest['peerDependencies'] ?? {}) as Manifest)
  const ranges = Object.assign(
    Object.fromEntries(peers.filter(([, range]) => range !== ANY_VERSION)),
    installedWith(pkg),
  ) as Manifest
  return packages
    .filter(({ name, version }) => ranges[name] !== undefined && ranges[name] !== version)
    .map(
      ({ name, version }) =>
        `${pkg.name} must depend on ${name} ${version}, which is published with it, got ${String(ranges[name])}`,
    )
}

/** The core must depend on exactly the platform packages that are released, which are published with it. */
function findPlatforms(core: NpmPackage, packages: readonly NpmPackage[], names: readonly string[]): string[] {
  const { version, manifest } = core
  const listed = (all: Manifest): string =>
    Object.entries(all)
      .map((one) => one.join('@'))
      .join(', ') || 'none'
  const wanted = Object.fromEntries(names.map((name) => [name, version]))
  const optional = { ...(manifest['optionalDependencies'] as Manifest | undefined) }
  const absent = names.filter((name) => !packages.some((one) => one.name === name && one.version === version))
  return [
    ...(isDeepStrictEqual(optional, wanted)
      ? []
      : [`optionalDependencies of ${core.name} must be ${listed(wanted)}, got ${listed(optional)}`]),
    ...(absent.length === 0
      ? []
      : [`the packages of the core must be published with it, but ${absent.join(', ')} is not there`]),
  ]
}

/** The entries that only packages of Tenon import, or that are started by their path. */
const internal = new Set(['./internal', './debug-info', './private-directory', './worker-process', './package.json'])

/** The umbrella must have each public entry of its parts, and must not depend on the optional packages. */
function findUmbrella({ manifest }: NpmPackage, packages: readonly NpmPackage[], scope: string): string[] {
  const read = (field: string): Manifest => (manifest[field] ?? {}) as Manifest
  const missing = packages
    .filter(({ name }) => read('dependencies')[name] !== undefined)
    .flatMap((part) =>
      Object.keys((part.manifest['exports'] ?? {}) as Manifest)
        .filter((entry) => !internal.has(entry))
        .map((entry) => `./${part.name.slice(scope.length + 1)}${entry.slice(1)}`),
    )
    .filter((entry) => read('exports')[entry] === undefined)
  const wrong = ['bind', 'build', 'serve']
    .map((name) => `${scope}/${name}`)
    .filter((name) => {
      const meta = read('peerDependenciesMeta')[name] as { readonly optional?: boolean } | undefined
      return read('dependencies')[name] !== undefined || !read('peerDependencies')[name] || meta?.optional !== true
    })
  return [
    ...(missing.length === 0
      ? []
      : [`tenon must export every public entry of its parts, but lacks ${missing.join(', ')}`]),
    ...(wrong.length === 0 ? [] : [`tenon must have ${wrong.join(', ')} as an optional peer and not as a dependency`]),
  ]
}

/** The core must carry the digests of the platform packages that are published with it. */
function findDigests({ name, files }: NpmPackage, packages: readonly NpmPackage[]): string[] {
  const text = files.get(coreDigestsPath)?.bytes.toString()
  if (text === undefined) return [`${name}: must contain ${coreDigestsPath}, with which it compares its libraries`]
  const wanted = coreDigests(packages, name)
  return isDeepStrictEqual(parsed(text), wanted)
    ? []
    : [`${name}: ${coreDigestsPath} must have the digests of ${Object.keys(wanted).join(', ') || 'no package'}`]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The exported constant of the native core with its versions. */
const SYMBOL = 'tn_versions'

/** Each native core must have the versions of the core that is published with it. */
function findCoreVersions(core: NpmPackage, packages: readonly NpmPackage[]): string[] {
  const expected = `version ${core.version}, ABI ${CONSTANTS.TN_ABI_VERSION}`
  return packages
    .filter(({ name }) => name.startsWith(`${core.name}-`))
    .flatMap(({ name, files }) =>
      [...files].flatMap(([path, { bytes }]) => {
        if (!/^lib\/(lib)?tenon\.(so|dylib|dll)$/.test(path)) return []
        const received = versionsIn(bytes)
        // Other rules say so if it cannot be read at all.
        if (received === undefined || received === expected) return []
        return [`${name}: ${path} must be of ${core.name}, ${expected}, got ${received}`]
      }),
    )
}

function versionsIn(bytes: Buffer): string | undefined {
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-release-'))
  try {
    const path = join(temporary, 'core')
    writeFileSync(path, bytes)
    const [text] = readTextConstants(
      path,
      readBinary(path).exports.filter(({ name }) => name.replace(/^_/, '') === SYMBOL),
    )
    // The version of the ABI is an unsigned constant of C.
    return typeof text === 'string' ? text.replace(/u$/, '') : `no constant ${SYMBOL}`
  } catch (error) {
    if (error instanceof BinaryFormatError) return undefined
    throw error
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

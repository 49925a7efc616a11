import type { ProjectFacts } from '../../lib/project.ts'
import type { Manifest, ReleasePackage } from '../release-package.ts'
import { dependenciesOf } from './manifest.ts'

/** What packages that are published together are checked against. */
export interface SetContext {
  readonly project: ProjectFacts
  /** The platform packages that are released. */
  readonly platformPackages: readonly string[]
}

/** The entries that only packages of Tenon import, or that are started by their path. */
const internal = new Set(['./internal', './worker-process', './package.json'])

/** Returns a sentence for each package that another one needs in another version. */
export function findVersions(packages: readonly ReleasePackage[]): string[] {
  const versions = new Map(packages.map(({ name, version }) => [name, version]))
  return packages.flatMap(({ name, manifest }) =>
    dependenciesOf(manifest).flatMap(([dependency, range]) => {
      const version = versions.get(dependency)
      if (version === undefined || String(range).replace(/^[~^]/, '') === version) return []
      return [`${name} must depend on ${dependency} ${version}, which is published with it, got ${String(range)}`]
    }),
  )
}

/** Returns a sentence if the core does not have exactly the platform packages that are released. */
export function findPlatforms(
  packages: readonly ReleasePackage[],
  { project, platformPackages }: SetContext,
): string[] {
  const core = packages.find(({ name }) => name === `${project.scope}/core`)
  if (core === undefined) return []
  const { version, manifest } = core
  const optional = Object.entries((manifest['optionalDependencies'] ?? {}) as Manifest)
  const wanted = platformPackages.map((name) => `${name}@${version}`)
  const got = optional.map(([name, range]) => `${name}@${String(range)}`)
  const isSame = wanted.length === got.length && wanted.every((one) => got.includes(one))
  const absent = platformPackages.filter(
    (name) => !packages.some((one) => one.name === name && one.version === version),
  )
  return [
    ...(isSame
      ? []
      : [`optionalDependencies of ${core.name} must be ${wanted.join(', ')}, got ${got.join(', ') || 'none'}`]),
    ...(absent.length === 0
      ? []
      : [`the packages of the core must be published with it, but ${absent.join(', ')} is not there`]),
  ]
}

/** Returns a sentence for each public entry of a part that the umbrella does not have, and if it needs the optional packages. */
export function findUmbrella(packages: readonly ReleasePackage[], { project }: SetContext): string[] {
  const umbrella = packages.find(({ name }) => name === 'tenon')
  if (umbrella === undefined) return []
  const { manifest } = umbrella
  const parts = new Set(Object.keys((manifest['dependencies'] ?? {}) as Manifest))
  const entries = Object.keys((manifest['exports'] ?? {}) as Manifest)
  const missing = packages
    .filter(({ name }) => parts.has(name))
    .flatMap((part) =>
      Object.keys((part.manifest['exports'] ?? {}) as Manifest)
        .filter((entry) => !internal.has(entry))
        .map((entry) => `./${part.name.slice(project.scope.length + 1)}${entry.slice(1)}`),
    )
    .filter((entry) => !entries.includes(entry))
  const optional = ['build', 'serve'].map((name) => `${project.scope}/${name}`)
  const peers = (manifest['peerDependencies'] ?? {}) as Manifest
  const meta = (manifest['peerDependenciesMeta'] ?? {}) as Readonly<Record<string, { optional?: boolean }>>
  const wrong = optional.filter((name) => parts.has(name) || peers[name] === undefined || meta[name]?.optional !== true)
  return [
    ...(missing.length === 0
      ? []
      : [`tenon must export every public entry of its parts, but lacks ${missing.join(', ')}`]),
    ...(wrong.length === 0 ? [] : [`tenon must have ${wrong.join(', ')} as an optional peer and not as a dependency`]),
  ]
}

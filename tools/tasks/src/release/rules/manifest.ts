import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { repositoryUrl } from '../../lib/project.ts'
import { root } from '../../lib/root.ts'
import { platformFields } from '../finish-package.ts'
import type { Manifest, ReleasePackage } from '../release-package.ts'
import type { ReleaseContext } from './context.ts'

/** The oldest Node.js on which the packages run. */
const engines = { node: '>=22.12' }

/** Returns a sentence if a package does not say where it comes from, which npm compares with the provenance. */
export function findRepository({ manifest }: ReleasePackage, { project }: ReleaseContext): string[] {
  const { repository, homepage, bugs } = manifest
  const url = repositoryUrl(project)
  if (repository === undefined) return ['package.json must have a repository, which npm compares with the provenance']
  const { directory = '' } = repository as { readonly directory?: string }
  const wanted = { type: 'git', url: `git+${url}.git`, directory }
  return [
    ...(isDeepStrictEqual(repository, wanted)
      ? []
      : [`repository must be that of project.json, ${JSON.stringify(wanted)}, got ${JSON.stringify(repository)}`]),
    ...(directory !== '' && existsSync(join(root, directory, 'package.json'))
      ? []
      : [`repository.directory must be the folder of the package, got ${JSON.stringify(directory)}`]),
    ...(homepage === project.site ? [] : [`homepage must be ${project.site}, got ${JSON.stringify(homepage)}`]),
    ...(bugs === `${url}/issues` ? [] : [`bugs must be ${url}/issues, got ${JSON.stringify(bugs)}`]),
  ]
}

/** Returns a sentence if a package would be private, or would be published without provenance. */
export function findPublishConfig({ manifest }: ReleasePackage): string[] {
  const wanted = { access: 'public', provenance: true }
  const { publishConfig } = manifest
  if (isDeepStrictEqual(publishConfig, wanted)) return []
  return [`publishConfig must be ${JSON.stringify(wanted)}, got ${JSON.stringify(publishConfig)}`]
}

/**
 * Returns a sentence for each field by which package managers choose a package that is wrong. A platform package has no engines: npm
 * and pnpm leave out an optional dependency that does not fit without a word, and the error then blames something else.
 */
export function findChoice({ manifest }: ReleasePackage, { platform }: ReleaseContext): string[] {
  const wanted = platform === undefined ? { engines } : { ...platformFields(platform), engines: undefined }
  return Object.entries(wanted)
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(
      ([field, value]) =>
        `${field} must be ${JSON.stringify(value) ?? 'absent'}, got ${JSON.stringify(manifest[field]) ?? 'nothing'}`,
    )
}

/** Returns a sentence for fields that do something on the machine of a user, or mean something only in this repository. */
export function findForeignFields({ manifest }: ReleasePackage, { platform }: ReleaseContext): string[] {
  const forbidden = ['scripts', 'devDependencies', 'private', 'workspaces', 'bundleDependencies', 'gypfile']
  const ofPlatforms = ['dependencies', 'optionalDependencies', 'peerDependencies', 'main', 'bin']
  const found = [...forbidden, ...(platform === undefined ? [] : ofPlatforms)].filter(
    (field) => manifest[field] !== undefined,
  )
  const local = dependenciesOf(manifest).filter(([, range]) => !/^[^:/]+$/.test(String(range)))
  return [
    ...(found.length === 0 ? [] : [`package.json must not have ${found.join(', ')}`]),
    ...(local.length === 0
      ? []
      : [`dependencies must be versions of the registry, got ${local.map((one) => one.join('@')).join(', ')}`]),
  ]
}

/** The packages that a package names in any field, with their versions. */
export function dependenciesOf(manifest: Manifest): [name: string, range: unknown][] {
  return ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((field) =>
    Object.entries((manifest[field] ?? {}) as Manifest),
  )
}

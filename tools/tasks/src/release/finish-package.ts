import { posix } from 'node:path'

import { findPlatform, type PlatformName } from '@tenon/build'

import { type ProjectFacts, repositoryUrl } from '../lib/project.ts'
import { type Manifest, type ReleasePackage, releasePackage, withFiles, withManifest } from './release-package.ts'

/** What a package gets when it is packed. */
export interface FinishContext {
  readonly project: ProjectFacts
  /** The folder of the package in the repository, with `/`. */
  readonly directory: string
  readonly notice: string
  /** The only platform of the package. */
  readonly platform?: string | undefined
  /** The platform packages that are released. */
  readonly platformPackages: readonly string[]
}

/** The fields that only the repository needs, and those that are written anew. */
const removed = { scripts: undefined, devDependencies: undefined, publishConfig: undefined }

/**
 * Makes of a package that `pnpm pack` has packed what is published: it states where the project is, has no text twice, and its links
 * lead somewhere.
 */
export function finishPackage(pkg: ReleasePackage, context: FinishContext): ReleasePackage {
  const { directory, notice, project } = context
  const files = new Map(pkg.files)
  for (const [path, file] of pkg.files) {
    if (path.endsWith('.map')) files.set(path, { ...file, bytes: withoutSources(path, file.bytes, pkg.files) })
  }
  const finished = releasePackage(pkg.name, files)
  const pages = ['README.md', 'CHANGELOG.md'].flatMap((path) => {
    const text = files.get(path)?.bytes.toString()
    if (text === undefined) return []
    return [
      [path, withAbsoluteLinks(asPublished(text), directory, repositoryUrl(project), new Set(files.keys()))] as const,
    ]
  })
  return withFiles(withManifest(finished, fieldsOf(pkg, context)), { NOTICE: notice, ...Object.fromEntries(pages) })
}

function fieldsOf({ name, version, manifest }: ReleasePackage, context: FinishContext): Manifest {
  const { project, directory, platform, platformPackages } = context
  const url = repositoryUrl(project)
  return {
    ...removed,
    repository: { type: 'git', url: `git+${url}.git`, directory },
    homepage: project.site,
    bugs: `${url}/issues`,
    ...(name === 'tenon' && optionalPeers(manifest, [`${project.scope}/build`, `${project.scope}/serve`], version)),
    ...(platform === undefined
      ? { optionalDependencies: releasedPlatforms(manifest, name, platformPackages) }
      : platformFields(platform)),
    publishConfig: { access: 'public', provenance: true },
  }
}

/** The commands of these packages run through that of the umbrella, which finds them from the working directory. */
function optionalPeers(manifest: Manifest, names: readonly string[], version: string): Manifest {
  return {
    peerDependencies: {
      ...(manifest['peerDependencies'] as Manifest | undefined),
      ...Object.fromEntries(names.map((name) => [name, `^${version}`])),
    },
    peerDependenciesMeta: {
      ...(manifest['peerDependenciesMeta'] as Manifest | undefined),
      ...Object.fromEntries(names.map((name) => [name, { optional: true }])),
    },
  }
}

/** Without the packages of platforms that are not released, which pnpm and Yarn would not find. */
function releasedPlatforms(manifest: Manifest, name: string, released: readonly string[]): Manifest | undefined {
  const optional = manifest['optionalDependencies'] as Manifest | undefined
  if (optional === undefined) return undefined
  const isOther = (dependency: string): boolean => dependency.startsWith(`${name}-`) && !released.includes(dependency)
  return Object.fromEntries(Object.entries(optional).filter(([dependency]) => !isOther(dependency)))
}

/** The fields by which package managers choose a platform package. */
export function platformFields(name: string): Manifest {
  const { os, cpu, libc } = findPlatform(name as PlatformName)
  return { os: [os], cpu: [cpu], libc: libc && [libc === 'gnu' ? 'glibc' : libc] }
}

/** A source map, as far as it is read here. */
export interface SourceMap {
  readonly sources?: readonly string[]
  readonly sourcesContent?: readonly (string | null)[]
}

/** The path in the package of a source that a map names. */
export const sourcePath = (map: string, source: string): string => posix.join(posix.dirname(map), source)

/** A source map without the text of those sources that the package has as files. Bundled sources of other packages keep theirs. */
function withoutSources(path: string, bytes: Buffer, files: ReleasePackage['files']): Buffer {
  const { sourcesContent, ...map } = JSON.parse(bytes.toString()) as SourceMap
  const kept = sourcesContent?.map((text, i) => (files.has(sourcePath(path, map.sources![i]!)) ? null : text))
  return Buffer.from(JSON.stringify({ ...map, ...(kept?.some((text) => text !== null) && { sourcesContent: kept }) }))
}

/** What READMEs say of packages that are used from the repository. */
const unpublished = /The package is not (?:on npm|published) yet\. See \[[^\]]*\]\([^)]*\)\.[ \n]/g

/** Who reads the README of a package on npm need not be told that it is not there. */
const asPublished = (text: string): string => text.replaceAll(unpublished, '')

/** Code, or the target of a link or an image. */
const linkTargets = /^(`{3,})[^]*?^\1|`[^`\n]*`|(\]\(\s*<?)([^)\s>]+)/gm

/** Makes the links of a README to files that the package does not have absolute. */
export function withAbsoluteLinks(
  text: string,
  directory: string,
  repository: string,
  files: ReadonlySet<string>,
): string {
  return text.replaceAll(linkTargets, (whole, _fence, before?: string, target?: string) => {
    if (before === undefined || target === undefined || isAbsolute(target)) return whole
    const [, path = '', rest = ''] = /^([^?#]*)(.*)$/.exec(target)!
    if (files.has(posix.normalize(path))) return whole
    const image = /\.(?:svg|png|jpe?g|gif|webp)$/.test(path)
    return `${before}${repository}/${image ? 'raw' : 'blob'}/main/${posix.join(directory, path)}${rest}`
  })
}

/** Whether a link leads somewhere on its own, or within its page. */
export const isAbsolute = (target: string): boolean => /^(?:[a-z][a-z\d+.-]*:|#|\/\/)/i.test(target)

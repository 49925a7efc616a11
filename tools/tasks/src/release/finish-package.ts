import { posix } from 'node:path'

import {
  findPlatform,
  isAbsolute,
  type Manifest,
  type NpmPackage,
  npmPackage,
  platformFields,
} from '@tenon/build/internal'

import { type ProjectFacts, repositoryUrl } from '../lib/project.ts'

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

/**
 * Makes of a package that `pnpm pack` has packed what is published: it states where the project is and has its notice, its links lead
 * somewhere, and it has built files alone, which are half as large without their sources and maps.
 */
export function finishPackage(pkg: NpmPackage, context: FinishContext): NpmPackage {
  const { directory, notice, project, platformPackages } = context
  const { name, manifest } = pkg
  const fields = {
    ...manifest,
    scripts: undefined,
    devDependencies: undefined,
    files: undefined,
    ...(manifest['exports'] !== undefined && { exports: withoutSources(manifest['exports'] as Exports) }),
    ...(name === 'tenon' && withServe(manifest, `${project.scope}/serve`)),
    optionalDependencies: releasedPlatforms(manifest, name, platformPackages),
    ...releaseFields(context),
  }
  const files = new Map([...pkg.files].filter(([path]) => !isSource(path)))
  for (const [path, { bytes, executable }] of files) {
    if (!mapped.test(path)) continue
    files.set(path, { bytes: Buffer.from(bytes.toString().replace(mapComment, '\n')), executable })
  }
  const write = (path: string, text: string): void =>
    void files.set(path, { bytes: Buffer.from(text), executable: false })
  write('package.json', `${JSON.stringify(fields, undefined, 2)}\n`)
  write('NOTICE', notice)
  for (const page of ['README.md', 'CHANGELOG.md']) {
    const text = files.get(page)?.bytes.toString().replaceAll(unpublished, '')
    if (text !== undefined) write(page, withAbsoluteLinks(text, directory, repositoryUrl(project), files))
  }
  return npmPackage(name, files)
}

/** The fields that say where a package comes from, which npm compares with the provenance, and where it runs. */
export function releaseFields({
  project,
  directory,
  platform,
}: Pick<FinishContext, 'project' | 'directory' | 'platform'>): Manifest {
  const url = repositoryUrl(project)
  return {
    repository: { type: 'git', url: `git+${url}.git`, directory },
    homepage: project.site,
    bugs: `${url}/issues`,
    publishConfig: { access: 'public', provenance: true },
    ...(platform === undefined ? { engines: { node: '>=22.12' } } : platformFields(findPlatform(platform))),
  }
}

/**
 * The range of the server among the peers of the umbrella. The server depends on one version of the umbrella, so each release of the
 * server would change the umbrella if it stated a version in return.
 */
export const ANY_VERSION = '*'

/**
 * Adds the server to the optional peers. Its commands run through that of the umbrella, which finds them from the working directory. It
 * is not in the workspace's manifest, because packages of a workspace must not depend on each other in a circle.
 */
function withServe(manifest: Manifest, serve: string): Manifest {
  return {
    peerDependencies: { ...(manifest['peerDependencies'] as Manifest | undefined), [serve]: ANY_VERSION },
    peerDependenciesMeta: {
      ...(manifest['peerDependenciesMeta'] as Manifest | undefined),
      [serve]: { optional: true },
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

/** Whether a file of a package is a source or a map. A template of a package has sources of its own. */
const isSource = (path: string): boolean => /^src\/|^(?!templates\/).*\.map$/.test(path)

/** Files that can name their map. */
const mapped = /^dist\/.*\.[cm]?[jt]s$/
const mapComment = /\n?\/\/# sourceMappingURL=.*\n?$/

/** Entries, and the files of each by condition. */
type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>

/** Without the condition with which the workspace reads sources. */
function withoutSources(entries: Exports): Exports {
  return Object.fromEntries(
    Object.entries(entries).map(([entry, target]) => {
      if (typeof target === 'string') return [entry, target]
      const { '@tenon/source': _, ...built } = target
      return [entry, built]
    }),
  )
}

/** What READMEs say to those who use a package from the repository. */
const unpublished = /The package is not (?:on npm|published) yet\. See \[[^\]]*\]\([^)]*\)\.[ \n]/g

/** Code, or the target of a link or an image. */
const linkTargets = /^(`{3,})[^]*?^\1|`[^`\n]*`|(\]\(\s*<?)([^)\s>]+)/gm

/** Makes the links of a README to files that the package does not have absolute. */
function withAbsoluteLinks(text: string, directory: string, repository: string, files: NpmPackage['files']): string {
  return text.replaceAll(linkTargets, (whole, _fence, before?: string, target?: string) => {
    if (before === undefined || target === undefined || isAbsolute(target)) return whole
    const [, path = '', rest = ''] = /^([^?#]*)(.*)$/.exec(target)!
    if (files.has(posix.normalize(path))) return whole
    const image = /\.(?:svg|png|jpe?g|gif|webp)$/.test(path)
    return `${before}${repository}/${image ? 'raw' : 'blob'}/main/${posix.join(directory, path)}${rest}`
  })
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Platform, Project } from '@tenon/build'
import type { BuildTool } from '../cli/build-tool.ts'
import { isRequired } from './find-builds.ts'
import { isRange, platformManifest, platformPackageName, type Manifest } from './manifests.ts'
import { digestsPath, sha256 } from './pack-project.ts'
import type { Tarball } from './read-packages.ts'

/** The names of documents that a package may have. */
const documents = /^(?:README\.md|LICENSE(?:\.md|\.txt)?|NOTICE)$/

/**
 * Returns a sentence for each reason why the packages of a project must not be published: packages that are missing, belong to
 * another version or have other files, manifests that a user cannot install, and libraries that do not run on their platform.
 */
export function findPackageProblems(tool: BuildTool, project: Project, tarballs: readonly Tarball[]): string[] {
  const platforms = tool.platforms.map((platform) => ({
    platform,
    name: platformPackageName(project.name, platform.name),
  }))
  const problems = tarballs.flatMap((tarball) => {
    const platform = platforms.find(({ name }) => name === tarball.name)?.platform
    const found =
      tarball.name === project.name
        ? findMainProblems(tarball, tarballs)
        : platform === undefined
          ? [`its name must be ${project.name}, or that with a platform behind it, got ${tarball.name}`]
          : findPlatformProblems(tool, project, tarball, platform)
    return [...findVersion(tarball, project), ...findManifestProblems(tarball), ...found].map(
      (sentence) => `${tarball.fileName}: ${sentence}`,
    )
  })
  const main = tarballs.filter(({ name }) => name === project.name).length
  return main === 1 ? problems : [`there must be one package ${project.name}, got ${main}`, ...problems]
}

function findVersion({ version }: Tarball, project: Project): string[] {
  return version === project.version
    ? []
    : [`its version must be ${project.version}, that of package.json, got ${version}: run tenon pack again`]
}

/** Fields that do something on the machine of a user, or that npm refuses. */
function findManifestProblems({ manifest, files }: Tarball): string[] {
  const forbidden = ['scripts', 'devDependencies', 'private', 'gypfile', 'bundleDependencies', 'workspaces'].filter(
    (field) => manifest[field] !== undefined,
  )
  const dependencies = ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((field) =>
    Object.entries((manifest[field] ?? {}) as Manifest),
  )
  const links = dependencies.filter(([, range]) => !isRange(range)).map(([name, range]) => `${name}@${String(range)}`)
  const provenance = (manifest['publishConfig'] as Manifest | undefined)?.['provenance'] === true
  return [
    ...(forbidden.length === 0 ? [] : [`package.json must not have ${forbidden.join(', ')}`]),
    ...(links.length === 0 ? [] : [`its dependencies must be versions of the registry, got ${links.join(', ')}`]),
    ...(provenance && manifest['repository'] === undefined
      ? ['package.json must have a repository, because publishConfig asks for provenance']
      : []),
    ...findLinks(files),
  ]
}

/** Relative links in the README to files that the package does not have. npm shows them as broken links. */
function findLinks(files: Tarball['files']): string[] {
  const readme = files.get('README.md')?.toString() ?? ''
  // Code shows text that looks like links.
  const prose = readme.replaceAll(/^(`{3,}).*?^\1/gms, '').replaceAll(/`[^`\n]*`/g, '')
  const targets = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)/g), ...prose.matchAll(/^\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm)]
  const lost = targets
    .map(([, target]) => target!)
    .filter((target) => !/^(?:[a-z][\w+.-]*:|#|\/\/)/i.test(target))
    .filter((target) => !files.has(target.replace(/^\.\//, '').replace(/[?#].*$/, '')))
  return lost.length === 0
    ? []
    : [`links of README.md must be absolute or to files of the package, got ${lost.join(', ')}`]
}

function findMainProblems({ name, version, manifest, files }: Tarball, tarballs: readonly Tarball[]): string[] {
  const others = tarballs.filter((one) => one.name !== name)
  const wanted = Object.fromEntries(others.map((one) => [one.name, version]))
  const optional = (manifest['optionalDependencies'] ?? {}) as Manifest
  const lost = Object.keys(optional).filter((one) => wanted[one] === undefined)
  const dependencies = Object.keys((manifest['dependencies'] ?? {}) as Manifest)
  return [
    ...(lost.length === 0
      ? []
      : [`it depends on ${lost.join(', ')}, of which there is no tarball: run tenon pack again`]),
    ...(lost.length === 0 && !isDeepStrictEqual({ ...optional }, wanted)
      ? [`its optionalDependencies must be ${JSON.stringify(wanted)}, got ${JSON.stringify(optional)}`]
      : []),
    ...(isDeepStrictEqual(dependencies, ['tenon'])
      ? []
      : [`it must depend on tenon alone, got ${dependencies.join(', ') || 'nothing'}`]),
    ...findFiles(files, ['package.json', 'README.md', 'index.js', 'index.d.ts']),
  ]
}

/** Refuses a missing file and a file that does not belong to the package. */
function findFiles(files: Tarball['files'], wanted: readonly string[]): string[] {
  const missing = wanted.filter((path) => !files.has(path))
  const unknown = [...files.keys()].filter((path) => !wanted.includes(path) && !documents.test(path))
  return [
    ...(missing.length === 0 ? [] : [`it lacks ${missing.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`it must not contain ${unknown.join(', ')}`]),
  ]
}

function findPlatformProblems(tool: BuildTool, project: Project, tarball: Tarball, platform: Platform): string[] {
  const { manifest, files, name, version } = tarball
  const {
    os,
    cpu,
    libc,
    exports,
    files: listed,
    preferUnplugged,
  } = platformManifest({ name: project.name, version, project: {}, platforms: [] }, platform)
  const wanted = { os, cpu, libc, exports, files: listed, preferUnplugged }
  const wrong = Object.entries(wanted).filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
  const added = ['dependencies', 'optionalDependencies', 'peerDependencies', 'engines', 'main', 'bin'].filter(
    (field) => manifest[field] !== undefined,
  )
  const required = new Set(
    project.config.libraries.filter((one) => isRequired(one, platform)).map((library) => library.name),
  )
  const libraries = project.native.targets
    .filter(({ kind }) => kind === 'shared')
    .map((target) => ({ target, path: `lib/${tool.artifactName(target, platform)}` }))
    .filter(({ target, path }) => required.has(target.name) || files.has(path))
  const paths = libraries.map(({ path }) => path)
  const structure = [
    ...wrong.map(
      ([field, value]) =>
        `${field} in package.json must be ${JSON.stringify(value)}, got ${JSON.stringify(manifest[field])}`,
    ),
    ...(added.length === 0 ? [] : [`the package.json of ${name} must not have ${added.join(', ')}`]),
    ...findFiles(files, ['package.json', digestsPath, ...paths]),
    ...findDigests(files, paths),
  ]
  return [...structure, ...findLibraryProblems(tool, project, files, paths, platform)]
}

/** The list of digests must have every library, and each digest must be that of its file. */
function findDigests(files: Tarball['files'], paths: readonly string[]): string[] {
  let digests: Manifest
  try {
    digests = Object(JSON.parse(files.get(digestsPath)?.toString() ?? '')) as Manifest
  } catch {
    return files.has(digestsPath) ? [`${digestsPath} must be a JSON object`] : []
  }
  const listed = Object.keys(digests).map((file) => `lib/${file}`)
  const unknown = listed.filter((path) => !paths.includes(path))
  return [
    ...paths.filter((path) => !listed.includes(path)).map((path) => `${digestsPath} must have the digest of ${path}`),
    ...unknown.map((path) => `${digestsPath} must not have ${path}, which is not a library of the project`),
    ...paths
      .filter((path) => listed.includes(path) && files.has(path))
      .filter((path) => sha256(files.get(path)!) !== digests[path.slice('lib/'.length)])
      .map((path) => `${path} must have the digest of ${digestsPath}, so it was changed after tenon pack`),
  ]
}

function findLibraryProblems(
  { findReleaseProblems }: BuildTool,
  { config, directory }: Project,
  files: Tarball['files'],
  paths: readonly string[],
  platform: Platform,
): string[] {
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-publish-'))
  const libraries = config.libraries.flatMap((one) =>
    (one.libraries ?? []).flatMap((name) => libraryFiles(name, platform)),
  )
  try {
    return paths.flatMap((path, i) => {
      const bytes = files.get(path)
      if (bytes === undefined) return []
      const file = join(temporary, String(i))
      writeFileSync(file, bytes)
      const names = paths.map((one) => one.slice('lib/'.length))
      return findReleaseProblems(file, { platform, files: names, libraries, builtIn: directory }).map(
        (sentence) => `${path}: ${sentence}`,
      )
    })
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

/** The files of a library that the configuration lists by its `-l` name, for the check of needed libraries. */
function libraryFiles(name: string, { os }: Platform): string[] {
  if (os === 'win32') return [`${name}.dll`, `lib${name}.dll`, `lib${name}-*`]
  return os === 'darwin' ? [`/usr/lib/lib${name}.dylib`, `/usr/lib/lib${name}.*`] : [`lib${name}.so`, `lib${name}.so.*`]
}

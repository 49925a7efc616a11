import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { findReleaseProblems, type ReleaseRules } from '../checks/release.ts'
import type { Manifest, NpmPackage, PackageFile } from './npm-package.ts'
import { digestsPath, platformFields, sha256 } from './platform-package.ts'

/** The rules that a package must keep before it is published. */
export interface PackageRules {
  /** The values of fields of package.json. Undefined ones must be absent. */
  readonly fields?: Manifest
  /** The files that the package must contain. */
  readonly files: readonly string[]
  /** The paths of further files that it may contain. By default all. */
  readonly documents?: RegExp
  /** The rules of its libraries, if it is the package of a platform. */
  readonly platform?: Omit<ReleaseRules, 'files'>
}

const absent = (...fields: string[]): Manifest => Object.fromEntries(fields.map((field) => [field, undefined]))

/** The fields that do something on the machine of a user, or mean something only where the package is made. */
const foreign = absent('scripts', 'devDependencies', 'private', 'workspaces', 'bundleDependencies', 'gypfile')

/**
 * The fields of a platform package. It has no engines, because npm and pnpm leave out an optional dependency that does not fit without
 * a word, and the error then blames something else.
 */
const ofPlatform = ({ platform }: Omit<ReleaseRules, 'files'>): Manifest => ({
  ...absent('dependencies', 'optionalDependencies', 'peerDependencies', 'engines', 'main', 'bin'),
  ...platformFields(platform),
  exports: { './package.json': './package.json', './lib/*': './lib/*' },
  preferUnplugged: true,
})

/** Returns a sentence for each reason why a package must not be published, from its bytes alone. Nothing is loaded or run. */
export function findPackageProblems(pkg: NpmPackage, rules: PackageRules): string[] {
  const { fields, platform } = rules
  return [
    ...findFields(pkg, { ...foreign, ...(platform && ofPlatform(platform)), ...fields }),
    ...findDependencies(pkg),
    ...findProvenance(pkg, fields),
    ...findLinks(pkg),
    ...findFiles(pkg, rules),
    ...(platform === undefined ? [] : findLibraries(pkg, rules.files, platform)),
  ]
}

function findFields({ manifest }: NpmPackage, wanted: Manifest): string[] {
  return Object.entries(wanted)
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(([field, value]) => {
      const got = manifest[field] === undefined ? 'nothing' : JSON.stringify(manifest[field])
      if (value === undefined) return `package.json must not have ${field}, got ${got}`
      return `${field} in package.json must be ${JSON.stringify(value)}, got ${got}`
    })
}

/** Whether a dependency is a range of versions, or a tag, of the registry. */
export const isRange = (range: unknown): range is string => typeof range === 'string' && /^[^:/]+$/.test(range)

function findDependencies({ manifest }: NpmPackage): string[] {
  const dependencies = ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((field) =>
    Object.entries((manifest[field] ?? {}) as Manifest),
  )
  const links = dependencies.filter(([, range]) => !isRange(range)).map(([name, range]) => `${name}@${String(range)}`)
  return links.length === 0 ? [] : [`its dependencies must be versions of the registry, got ${links.join(', ')}`]
}

/** npm compares the repository with the provenance. */
function findProvenance({ manifest: { publishConfig, repository } }: NpmPackage, fields: Manifest = {}): string[] {
  const isAsked = (publishConfig as Manifest | undefined)?.['provenance'] === true
  return isAsked && repository === undefined && fields['repository'] === undefined
    ? ['package.json must have a repository, because publishConfig asks for provenance']
    : []
}

/** Relative links in the README to files that the package does not have. npm shows them as broken links. */
function findLinks({ files }: NpmPackage): string[] {
  const readme = files.get('README.md')?.bytes.toString() ?? ''
  // Code shows text that looks like links.
  const prose = readme.replaceAll(/^(`{3,}).*?^\1/gms, '').replaceAll(/`[^`\n]*`/g, '')
  const lost = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)/g), ...prose.matchAll(/^\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm)]
    .map(([, target]) => target!)
    .filter((target) => !isAbsolute(target) && !files.has(posix.normalize(target.replace(/[?#].*$/, ''))))
  return lost.length === 0
    ? []
    : [`links of README.md must be absolute or to files of the package, got ${lost.join(', ')}`]
}

/** Whether a link leads somewhere on its own, or within its page. */
export const isAbsolute = (target: string): boolean => /^(?:[a-z][a-z\d+.-]*:|#|\/\/)/i.test(target)

function findFiles({ files }: NpmPackage, { files: wanted, documents }: PackageRules): string[] {
  const missing = wanted.filter((path) => !files.has(path))
  const unknown = [...files.keys()].filter((path) => !wanted.includes(path) && documents?.test(path) === false)
  return [
    ...(missing.length === 0 ? [] : [`the package must contain ${missing.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`the package must not contain ${unknown.join(', ')}`]),
  ]
}

/** Compares the libraries with the list of their digests, and checks each. */
function findLibraries({ files }: NpmPackage, wanted: readonly string[], rules: Omit<ReleaseRules, 'files'>): string[] {
  const names = wanted
    .filter((path) => path.startsWith('lib/') && path !== digestsPath)
    .map((path) => path.slice('lib/'.length))
  const listed = parseDigests(files.get(digestsPath))
  if (listed === undefined) return [`${digestsPath} must be a JSON object`]
  const unknown = Object.keys(listed).filter((name) => !names.includes(name))
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-publish-'))
  try {
    return [
      ...(unknown.length === 0 ? [] : [`${digestsPath} must not list ${unknown.join(', ')}`]),
      ...names.flatMap((name, i) => {
        const path = `lib/${name}`
        const file = files.get(path)
        if (listed[name] === undefined) return [`${digestsPath} must have the digest of ${path}`]
        if (file === undefined) return []
        writeFileSync(join(temporary, String(i)), file.bytes)
        const problems = findReleaseProblems(join(temporary, String(i)), { ...rules, files: names })
        return [...findDigest(path, file, listed[name]), ...problems.map((sentence) => `${path}: ${sentence}`)]
      }),
    ]
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

function parseDigests(file: PackageFile | undefined): Manifest | undefined {
  try {
    return Object(JSON.parse(file?.bytes.toString() ?? '{}')) as Manifest
  } catch {
    return undefined
  }
}

function findDigest(path: string, { bytes }: PackageFile, expected: unknown): string[] {
  const digest = sha256(bytes)
  return digest === expected
    ? []
    : [`${path} must have the digest of ${digestsPath}, ${String(expected)}, got ${digest}`]
}

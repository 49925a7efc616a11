import { existsSync } from 'node:fs'
import { join } from 'node:path'

import {
  artifactName,
  digestsPath,
  findPackageProblems,
  findPlatform,
  isBuiltFor,
  isShipped,
  loadPackage,
  type NativePackage,
  type NpmPackage,
  type Platform,
} from '@tenon/build/internal'

import { releasedPlatforms } from '../lib/platforms.ts'
import { findPlaceholders, type ProjectFacts, readProject } from '../lib/project.ts'
import { root } from '../lib/root.ts'
import { findSetFaults } from './check-set.ts'
import { releaseFields } from './finish-package.ts'

/** What the packages of a release are checked against. */
export interface ReleaseCheck {
  readonly project: ProjectFacts
  /** The targets of the core, which list the libraries of its platform packages. */
  readonly native: NativePackage
  /** The platforms that are released, such as `linux-x64-gnu`. */
  readonly platforms: readonly string[]
  /** The oldest glibc on which the libraries must run, by default that of Node.js. */
  readonly oldestGlibc?: string
  /** Whether the packages are only tried, so that `project.json` may have its first values. */
  readonly isTrial?: boolean
}

/** Reads from the repository what a release is checked against. */
export async function readReleaseCheck(): Promise<ReleaseCheck> {
  const { native } = await loadPackage(join(root, 'packages/core'))
  return { project: readProject(), native, platforms: releasedPlatforms().map(({ name }) => name) }
}

/** Returns a sentence for each reason why packages must not be published, from their bytes alone. */
export function findReleaseFaults(packages: readonly NpmPackage[], check: ReleaseCheck): string[] {
  const prefix = `${check.project.scope}/core-`
  const faults = packages.flatMap((pkg) => {
    const platform = pkg.name.startsWith(prefix) ? findPlatform(pkg.name.slice(prefix.length)) : undefined
    const found = platform === undefined ? findModuleFaults(pkg, check) : findPlatformFaults(pkg, check, platform)
    return [...found, ...findStaleReadme(pkg)].map((sentence) => `${pkg.name}: ${sentence}`)
  })
  const platformPackages = check.platforms.map((platform) => prefix + platform)
  return [
    ...(check.isTrial ? [] : findPlaceholders(check.project)),
    ...faults,
    ...findSetFaults(packages, check.project.scope, platformPackages),
  ]
}

/** The files that every package has. */
const documents = ['package.json', 'README.md', 'LICENSE', 'NOTICE']

/** The paths that a package may have. A template of a package has a test, which the package is not tested with. */
const published =
  /^templates\/|^(?!src\/|(?:.*\/)?(?:test|bench|reports|node_modules|\.turbo)\/|.*(?:tsbuildinfo|\.map)$)/

function findModuleFaults(pkg: NpmPackage, { project }: ReleaseCheck): string[] {
  const fields = releaseFields({ project, directory: folderOf(pkg) })
  return [
    ...findPackageProblems(pkg, { fields, files: [...documents, 'dist/index.js'], documents: published }),
    ...findFolder(pkg),
    ...findSize(pkg, limits[pkg.name] ?? defaultLimit),
  ]
}

/** Directories in which machines of CI build. Their paths in a file say that it contains the path of its build. */
const buildDirectories = ['/home/runner/work/', '/Users/runner/work/', 'D:\\a\\', 'D:/a/']

function findPlatformFaults(pkg: NpmPackage, check: ReleaseCheck, platform: Platform): string[] {
  const { project, native, platforms, oldestGlibc } = check
  const targets = native.targets.filter(
    (target) => isShipped(target) && !target.fixture && isBuiltFor(target, platform),
  )
  const pathOf = (target: (typeof targets)[number]): string => `lib/${artifactName(target, platform)}`
  const programs = targets.filter(({ kind }) => kind === 'executable' && platform.os !== 'win32').map(pathOf)
  return [
    ...(platforms.includes(platform.name)
      ? []
      : [`platforms.json must call ${platform.name} tested before its package is published`]),
    ...findPackageProblems(pkg, {
      fields: releaseFields({ project, directory: folderOf(pkg), platform: platform.name }),
      files: [...documents, digestsPath, ...targets.map(pathOf)],
      documents: /^README\.md$/,
      platform: { platform, builtIn: [root, ...buildDirectories], oldestGlibc },
    }),
    ...findFolder(pkg),
    ...programs.filter((path) => pkg.files.get(path)?.executable === false).map((path) => `${path} must be executable`),
    ...findSize(pkg, platformLimit),
  ]
}

/** The folder of a package in the repository, as it says itself. */
const folderOf = ({ manifest }: NpmPackage): string =>
  String((manifest['repository'] as { readonly directory?: unknown } | undefined)?.directory ?? '')

function findFolder(pkg: NpmPackage): string[] {
  const directory = folderOf(pkg)
  if (pkg.manifest['repository'] === undefined || existsSync(join(root, directory || '-', 'package.json'))) return []
  return [`repository.directory must be the folder of the package, got ${JSON.stringify(directory)}`]
}

/** Returns a sentence if the README says that the package cannot be installed. */
function findStaleReadme({ files }: NpmPackage): string[] {
  const found = /\bnot (?:on npm|published) yet\b/.exec(files.get('README.md')?.bytes.toString() ?? '')
  return found === null ? [] : [`README.md must be right once the package is published, got "${found[0]}"`]
}

/** The greatest sizes of the unpacked packages in bytes: what they had, with room for a fifth more. */
const limits: Readonly<Record<string, number>> = {
  tenon: 2_800_000,
  '@tenon/nnapi': 570_000,
  '@tenon/core': 1_400_000,
  '@tenon/scope': 550_000,
  '@tenon/custom-call': 560_000,
  '@tenon/packed-func': 460_000,
  '@tenon/serve': 750_000,
}

const defaultLimit = 350_000

/** The libraries of a platform, which every installation has. */
const platformLimit = 1_000_000

function findSize({ files }: NpmPackage, limit: number): string[] {
  const byteSize = [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
  return byteSize <= limit ? [] : [`the unpacked package must have at most ${limit} bytes, got ${byteSize}`]
}

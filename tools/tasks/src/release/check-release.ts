import { findPlatform, type NativePackage, type PlatformName } from '@tenon/build'

import { platformFiles } from '../lib/platform-packages.ts'
import { findPlaceholders, type ProjectFacts } from '../lib/project.ts'
import type { ReleasePackage } from './release-package.ts'
import { findLostLinks, findMisplacedFiles, findRepeatedText, findSize, findStaleReadme } from './rules/contents.ts'
import type { ReleaseContext } from './rules/context.ts'
import { findCoreVersions } from './rules/core-version.ts'
import { findDigests } from './rules/digests.ts'
import { findChoice, findForeignFields, findPublishConfig, findRepository } from './rules/manifest.ts'
import { findFiles, findLibraryProblems } from './rules/platform.ts'
import { findPlatforms, findUmbrella, findVersions } from './rules/set.ts'

type Rule = (pkg: ReleasePackage, context: ReleaseContext) => string[]

const everywhere: readonly Rule[] = [
  findRepository,
  findPublishConfig,
  findChoice,
  findForeignFields,
  findLostLinks,
  findStaleReadme,
  findSize,
]
const ofModules: readonly Rule[] = [findMisplacedFiles, findRepeatedText]
const ofPlatforms: readonly Rule[] = [findFiles, findLibraryProblems]

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

/** Returns a sentence for each reason why packages must not be published, from their bytes alone. */
export function findReleaseFaults(packages: readonly ReleasePackage[], check: ReleaseCheck): string[] {
  const { project, native, platforms, oldestGlibc, isTrial = false } = check
  const prefix = `${project.scope}/core-`
  const faults = packages.flatMap((pkg) => {
    const platform = pkg.name.startsWith(prefix)
      ? findPlatform(pkg.name.slice(prefix.length) as PlatformName).name
      : undefined
    const libraries = platform === undefined ? [] : platformFiles(native, platform)
    const context: ReleaseContext = { project, platform, libraries, oldestGlibc }
    const rules = [...everywhere, ...(platform === undefined ? ofModules : ofPlatforms)]
    const unreleased =
      platform === undefined || platforms.includes(platform)
        ? []
        : [`platforms.json must call ${platform} tested before its package is published`]
    return [...unreleased, ...rules.flatMap((rule) => rule(pkg, context))].map((sentence) => `${pkg.name}: ${sentence}`)
  })
  const set = { project, platformPackages: platforms.map((platform) => prefix + platform) }
  const placeholders = isTrial ? [] : findPlaceholders(project)
  return [
    ...placeholders,
    ...faults,
    ...findVersions(packages),
    ...findPlatforms(packages, set),
    ...findUmbrella(packages, set),
    ...findDigests(packages, project.scope),
    ...findCoreVersions(packages, project.scope),
  ]
}

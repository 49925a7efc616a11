import { join } from 'node:path'

import { withLock } from './build-lock.ts'
import { type Language, languageOf } from './compiler.ts'
import { defaultArchitectures } from './cuda.ts'
import { linkLanguage, linkTarget, planLink } from './link.ts'
import type { LoadedPackage } from './load-package.ts'
import { type Build, planFuzzDriver, planObjects } from './object-files.ts'
import { artifactName, buildDirectory, hostPlatform, type Platform } from './platform.ts'
import { chooseTargets } from './choose-targets.ts'
import { hashOf, Stamps } from './stamps.ts'
import type { NativeTarget, Variant } from './targets.ts'
import { findToolchain } from './toolchain.ts'

/** The built file of a target. */
export interface Artifact {
  readonly target: NativeTarget
  /** The absolute path. */
  readonly path: string
  /** Whether the file was built now. False if it was up to date. */
  readonly rebuilt: boolean
}

/** What {@link buildPackage} builds. */
export interface BuildOptions {
  readonly variant: Variant
  /** The kinds of targets to build. */
  readonly kinds: readonly NativeTarget['kind'][]
  /** By default the platform of this process. */
  readonly platform?: Platform
  /**
   * Whether the code runs on the oldest supported version of the platform, such as glibc 2.28, and not only on this machine's. It is
   * built by zig. Always true for other platforms, and by default false for the platform of this process.
   */
  readonly portable?: boolean
  /** Whether a release for another platform, or for older systems, contains its fixtures and tests. By default false. */
  readonly forTests?: boolean
  /**
   * The directory of the artifacts and objects, relative to the package. By default `build/VARIANT`, or `build/PLATFORM/VARIANT`
   * if the build is portable.
   */
  readonly directory?: string
  /** Whether gcc counts how often each line runs, for `gcov`. Fixtures do not count. By default false. */
  readonly coverage?: boolean
  /** Called with a sentence for each target that is left out because it is optional. By default it is printed to stderr. */
  readonly onWarning?: (message: string) => void
}

/**
 * Builds the targets of some kinds in the order of the table. A target is only built if its inputs changed. A release for another
 * platform, or for older systems, contains no fixtures, tests and fuzz programs, unless it is for tests.
 *
 * @throws {ToolError} with the message of the compiler.
 */
export async function buildPackage(pkg: LoadedPackage, options: BuildOptions): Promise<Artifact[]> {
  const { variant, platform = hostPlatform, portable = platform !== hostPlatform, coverage = false } = options
  const { directory = buildDirectory(variant, platform, portable) } = options
  const targets = await chooseTargets(pkg, { ...options, platform, portable })
  const languages = targets.flatMap((target) => neededLanguages(pkg, target, portable))
  const toolchain = await findToolchain(languages, { variant, platform, portable, directory: pkg.directory })
  const nvcc = toolchain.compilers.get('cuda')
  const architectures = nvcc && targets.some(({ cuda }) => !cuda) ? await defaultArchitectures(nvcc) : []
  return withLock(join(pkg.directory, directory, 'lock'), async () => {
    const stamps = new Stamps(join(pkg.directory, directory))
    const build = { pkg, variant, coverage, platform, directory, toolchain, architectures, stamps }
    const artifacts: Artifact[] = []
    try {
      for (const target of targets) artifacts.push(await buildTarget(build, target))
    } finally {
      stamps.save()
    }
    return artifacts
  })
}

function neededLanguages(pkg: LoadedPackage, target: NativeTarget, portable: boolean): Language[] {
  // zig links C++ as C, and the fuzz driver is in C.
  const more: Language[] = portable || target.kind === 'fuzz' ? ['c'] : []
  return [...target.sources.map(languageOf), linkLanguage(pkg, target), ...more]
}

async function buildTarget(build: Build, target: NativeTarget): Promise<Artifact> {
  const { pkg, variant, platform, directory, stamps } = build
  const driver = target.kind === 'fuzz' && variant !== 'libfuzzer' ? planFuzzDriver(build) : []
  const link = planLink(build, target, [...planObjects(build, target), ...driver])
  const output = artifactName(target, platform)
  const path = join(pkg.directory, directory, output)
  const hashes = link.objects.map((object) => object.hash)
  const hash = hashOf([format, link.linker.identity, JSON.stringify(target), ...link.flags, ...hashes])
  if (stamps.isCurrent(output, hash)) return { target, path, rebuilt: false }
  await linkTarget(build, link, hash)
  stamps.set(output, hash)
  return { target, path, rebuilt: true }
}

/** Changes when files are linked in another way. */
const format = '3'

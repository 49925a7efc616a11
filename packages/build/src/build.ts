import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { withLock } from './build-lock.ts'
import { checkCircles } from './checks/circles.ts'
import { checkLibrary } from './checks/library.ts'
import { findToolchain, type Language, languageOf, runCompiler } from './compiler.ts'
import { linkFlags } from './flags.ts'
import type { LoadedPackage } from './load-package.ts'
import { type Build, compileObjects, planFuzzDriver, planObjects } from './object-files.ts'
import { artifactName, buildDirectory, hostPlatform, type Platform, sharedLibraryName } from './platform.ts'
import { hashOf, Stamps } from './stamps.ts'
import { isLoadable, isShipped, type NativeTarget, type Variant } from './targets.ts'

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
   * The directory of the artifacts and objects, relative to the package. By default `build/VARIANT`, or `build/PLATFORM/VARIANT`
   * for a platform other than that of this process.
   */
  readonly directory?: string
}

/**
 * Builds the targets of some kinds in the order of the table. A target is only built if its inputs changed.
 *
 * @throws {ToolError} with the message of the compiler.
 */
export async function buildPackage(pkg: LoadedPackage, options: BuildOptions): Promise<Artifact[]> {
  const { variant, kinds, platform = hostPlatform, directory = buildDirectory(variant, platform) } = options
  const targets = pkg.native.targets.filter(
    ({ kind, systems }) => kinds.includes(kind) && systems?.includes(platform.os) !== false,
  )
  const languages = targets.flatMap((target) => neededLanguages(pkg, target))
  const toolchain = await findToolchain(languages, { variant, platform })
  return withLock(join(pkg.directory, directory, 'lock'), async () => {
    const stamps = new Stamps(join(pkg.directory, directory))
    const build = { pkg, variant, platform, directory, toolchain, stamps }
    const artifacts: Artifact[] = []
    try {
      for (const target of targets) artifacts.push(await buildTarget(build, target))
    } finally {
      stamps.save()
    }
    return artifacts
  })
}

function neededLanguages(pkg: LoadedPackage, target: NativeTarget): Language[] {
  return [
    ...target.sources.map(languageOf),
    linkLanguage(pkg, target),
    ...(target.kind === 'fuzz' ? ['c' as const] : []),
  ]
}

/** A program that uses a C++ library is linked as C++, because it must contain the sanitizers of C++. */
function linkLanguage(pkg: LoadedPackage, target: NativeTarget): Language {
  const used = pkg.native.targets.filter(({ name }) => !isLoadable(target) && target.uses?.includes(name))
  return [target, ...used].some(hasCxx) ? 'c++' : 'c'
}

function hasCxx(target: NativeTarget): boolean {
  return target.sources.some((source) => languageOf(source) === 'c++')
}

async function buildTarget(build: Build, target: NativeTarget): Promise<Artifact> {
  const { pkg, variant, platform, directory, toolchain, stamps } = build
  const own = planObjects(build, target)
  const driver = target.kind === 'fuzz' && variant !== 'libfuzzer' ? planFuzzDriver(build) : []
  const objects = [...own, ...driver]

  const output = artifactName(target, platform)
  const path = join(pkg.directory, directory, output)
  const used = (target.uses ?? []).map((name) => `${directory}/${sharedLibraryName(name, platform)}`)
  const flags = linkFlags(target, build, used)
  const linker = toolchain.get(linkLanguage(pkg, target))!
  const hash = hashOf([linker.identity, JSON.stringify(target), ...flags, ...objects.map((object) => object.hash)])
  if (stamps.isCurrent(output, hash)) return { target, path, rebuilt: false }

  await compileObjects(build, objects)
  // The linker writes to a directory of this process, from which the file is moved, so that a process that has mapped the old
  // library keeps it. The file has its final name there, because a DLL contains its name.
  const temporary = `${directory}/${process.pid}`
  const linked = join(pkg.directory, temporary, output)
  const inputs = objects.map((object) => `${directory}/${object.output}`)
  mkdirSync(join(pkg.directory, temporary), { recursive: true })
  try {
    await runCompiler(linker, ['-o', `${temporary}/${output}`, ...inputs, ...flags], pkg, output)
    if (isShipped(target) && variant === 'release') {
      if (pkg.native.acyclic) {
        const sources = own.map((object) => [object.source, join(pkg.directory, directory, object.output)] as const)
        await checkCircles(target.name, new Map(sources))
      }
      checkLibrary(linked, target, { platform, hasCxx: hasCxx(target) })
    }
    renameSync(linked, path)
  } finally {
    rmSync(join(pkg.directory, temporary), { recursive: true, force: true })
  }
  stamps.set(output, hash)
  return { target, path, rebuilt: true }
}

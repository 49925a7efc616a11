import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { checkCircles } from './circles.ts'
import { findToolchain, type Language, languageOf, runCompiler } from './compiler.ts'
import { linkFlags } from './flags.ts'
import type { LoadedPackage } from './load-package.ts'
import { type Build, compileObjects, planFuzzDriver, planObjects } from './object-files.ts'
import { artifactName, sharedLibraryName, variantDirectory } from './platform.ts'
import { hashOf, Stamps } from './stamps.ts'
import { checkSymbols } from './symbols.ts'
import { isLoadable, isShipped, type NativeTarget, type Variant } from './targets.ts'

/** The built file of a target. */
export interface Artifact {
  readonly target: NativeTarget
  /** The absolute path. */
  readonly path: string
  /** Whether the file was built now. False if it was up to date. */
  readonly rebuilt: boolean
}

/**
 * Builds the targets of some kinds in the order of the table. A target is only built if its inputs changed.
 *
 * @throws {ToolError} with the message of the compiler.
 */
export async function buildPackage(
  pkg: LoadedPackage,
  variant: Variant,
  kinds: readonly NativeTarget['kind'][],
): Promise<Artifact[]> {
  const targets = pkg.native.targets.filter(
    ({ kind, systems }) => kinds.includes(kind) && systems?.includes(process.platform) !== false,
  )
  const toolchain = await findToolchain(
    targets.flatMap((target) => neededLanguages(pkg, target)),
    variant,
  )
  const stamps = new Stamps(join(pkg.directory, variantDirectory(variant)))
  const artifacts: Artifact[] = []
  try {
    for (const target of targets) artifacts.push(await buildTarget({ pkg, variant, toolchain, stamps }, target))
  } finally {
    stamps.save()
  }
  return artifacts
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
  const { pkg, variant, toolchain, stamps } = build
  const own = planObjects(build, target)
  const driver = target.kind === 'fuzz' && variant !== 'libfuzzer' ? planFuzzDriver(build) : []
  const objects = [...own, ...driver]

  const directory = variantDirectory(variant)
  const output = artifactName(target)
  const path = join(pkg.directory, directory, output)
  const used = (target.uses ?? []).map((name) => `${directory}/${sharedLibraryName(name)}`)
  const flags = linkFlags(target, variant, used)
  const linker = toolchain.get(linkLanguage(pkg, target))!
  const hash = hashOf([linker.identity, JSON.stringify(target), ...flags, ...objects.map((object) => object.hash)])
  if (stamps.isCurrent(output, hash)) return { target, path, rebuilt: false }

  await compileObjects(build, objects)
  // The linker writes a temporary file, which is renamed, so that a process that has mapped the old library keeps it.
  const temporary = `${directory}/${output}.${process.pid}`
  const inputs = objects.map((object) => `${directory}/${object.output}`)
  try {
    await runCompiler(linker, ['-o', temporary, ...inputs, ...flags], pkg, output)
    if (isShipped(target) && variant === 'release') {
      const sources = own.map((object) => [object.source, join(pkg.directory, directory, object.output)] as const)
      await checkCircles(target.name, new Map(sources))
      await checkSymbols(join(pkg.directory, temporary), target, hasCxx(target))
    }
    renameSync(join(pkg.directory, temporary), path)
  } finally {
    rmSync(join(pkg.directory, temporary), { force: true })
  }
  stamps.set(output, hash)
  return { target, path, rebuilt: true }
}

import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { ToolError } from './tool-error.ts'
import { type Compiler, compileFlags, findCompiler, type Language, languageOf, linkFlags } from './compiler.ts'
import type { LoadedPackage } from './load-package.ts'
import { programName, sharedLibraryName, variantDirectory } from './platform.ts'
import { mapLimited } from './map-limited.ts'
import { runCommand } from './run-command.ts'
import { findSources, hashHeaders } from './sources.ts'
import { hashOf, Stamps } from './stamps.ts'
import { checkSymbols } from './symbols.ts'
import type { NativeTarget, Variant } from './targets.ts'

/** Compilers run at once. */
const parallel = 2

/** What was built of a target. */
export interface Artifact {
  readonly target: NativeTarget
  /** The absolute path. */
  readonly path: string
  /** False if it was up to date. */
  readonly rebuilt: boolean
}

/** The path of a target's artifact, absolute. */
export function artifactPath(pkg: LoadedPackage, target: NativeTarget, variant: Variant): string {
  return join(pkg.directory, variantDirectory(variant), fileName(target))
}

function fileName(target: NativeTarget): string {
  return target.kind === 'shared' ? sharedLibraryName(target.name) : programName(target.name)
}

/**
 * Builds the targets of the given kinds, in the order of the table, each only if something it is made of changed.
 *
 * @throws {ToolError} with the compiler's own words.
 */
export async function buildPackage(
  pkg: LoadedPackage,
  variant: Variant,
  kinds: readonly NativeTarget['kind'][],
): Promise<Artifact[]> {
  const targets = pkg.native.targets.filter((target) => kinds.includes(target.kind))
  const stamps = new Stamps(join(pkg.directory, variantDirectory(variant)))
  const artifacts: Artifact[] = []
  try {
    for (const target of targets) artifacts.push(await buildTarget(pkg, target, variant, stamps))
  } finally {
    stamps.save()
  }
  return artifacts
}

async function buildTarget(
  pkg: LoadedPackage,
  target: NativeTarget,
  variant: Variant,
  stamps: Stamps,
): Promise<Artifact> {
  const sources = findSources(pkg.directory, target)
  const headers = hashHeaders(pkg.directory, target, sources)
  const compilers = await findCompilers(sources)
  const objects = sources.map((source) => {
    const language = languageOf(source)
    const flags = compileFlags(target, language, variant, pkg.version)
    const content = readFileSync(join(pkg.directory, source))
    const compiler = compilers.get(language)!
    const output = `objects/${target.name}/${source.replaceAll('..', '_')}.o`
    return { source, compiler, flags, output, hash: hashOf([compiler.identity, ...flags, headers, source, content]) }
  })

  const directory = variantDirectory(variant)
  const output = fileName(target)
  const path = join(pkg.directory, directory, output)
  const used = (target.uses ?? []).map((name) => `${directory}/${sharedLibraryName(name)}`)
  const flags = linkFlags(target, variant, used)
  const linker = compilers.get('c++') ?? compilers.get('c')!
  const hash = hashOf([linker.identity, JSON.stringify(target), ...flags, ...objects.map((object) => object.hash)])
  if (stamps.isCurrent(output, hash)) return { target, path, rebuilt: false }

  const stale = objects.filter((object) => !stamps.isCurrent(object.output, object.hash))
  await mapLimited(parallel, stale, async ({ source, compiler, flags: compile, output: object, hash: objectHash }) => {
    mkdirSync(dirname(join(pkg.directory, directory, object)), { recursive: true })
    // Debug information names files as the package does, wherever it is checked out.
    const relocated = `-ffile-prefix-map=${pkg.directory}=.`
    await runTool(pkg, compiler, [...compile, relocated, '-c', source, '-o', `${directory}/${object}`], source)
    stamps.set(object, objectHash)
  })

  // Linked beside and then moved: a process that has the old library mapped keeps it whole.
  const temporary = `${directory}/${output}.${process.pid}`
  const inputs = objects.map((object) => `${directory}/${object.output}`)
  try {
    await runTool(pkg, linker, ['-o', temporary, ...inputs, ...flags], output)
    if (target.kind === 'shared' && variant === 'release') {
      await checkSymbols(join(pkg.directory, temporary), target, compilers.has('c++'))
    }
    renameSync(join(pkg.directory, temporary), path)
  } finally {
    rmSync(join(pkg.directory, temporary), { force: true })
  }
  stamps.set(output, hash)
  return { target, path, rebuilt: true }
}

async function findCompilers(sources: readonly string[]): Promise<Map<Language, Compiler>> {
  const languages = new Set(sources.map(languageOf))
  return new Map(
    await Promise.all([...languages].map(async (language) => [language, await findCompiler(language)] as const)),
  )
}

async function runTool(pkg: LoadedPackage, compiler: Compiler, args: readonly string[], what: string): Promise<void> {
  const result = await runCommand(compiler.command, [...compiler.args, ...args], { cwd: pkg.directory })
  if (result.code === 0) return
  const command = [compiler.command, ...compiler.args, ...args].join(' ')
  throw new ToolError(`${pkg.name}: ${what} did not build\n${result.stderr || result.stdout}\n  ${command}`)
}

import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { type Compiler, languageOf, runCompiler, type Toolchain } from './compiler.ts'
import { compileFlags } from './flags.ts'
import type { LoadedPackage } from './load-package.ts'
import { mapLimited } from './map-limited.ts'
import { variantDirectory } from './platform.ts'
import { findSources, hashHeaders } from './sources.ts'
import { hashOf, type Stamps } from './stamps.ts'
import type { NativeTarget, Variant } from './targets.ts'

/** Compilers run at once. */
const parallel = 2

/** What has to be compiled, and the hash of all that it depends on. */
export interface ObjectFile {
  /** Relative to the package. */
  readonly source: string
  readonly compiler: Compiler
  readonly flags: readonly string[]
  /** Relative to the variant's directory. */
  readonly output: string
  readonly hash: string
}

/** The objects of a target's own sources. */
export function planObjects(
  pkg: LoadedPackage,
  target: NativeTarget,
  variant: Variant,
  toolchain: Toolchain,
): ObjectFile[] {
  const sources = findSources(pkg.directory, target)
  const headers = hashHeaders(pkg.directory, target, sources)
  return sources.map((source) => {
    const language = languageOf(source)
    const compiler = toolchain.get(language)!
    const flags = compileFlags(target, language, variant, pkg.version)
    const content = readFileSync(join(pkg.directory, source))
    const output = `objects/${target.name}/${source}.o`
    return { source, compiler, flags, output, hash: hashOf([compiler.identity, ...flags, headers, source, content]) }
  })
}

/** Compiles the objects that are not up to date. */
export async function compileObjects(
  pkg: LoadedPackage,
  variant: Variant,
  objects: readonly ObjectFile[],
  stamps: Stamps,
): Promise<void> {
  const stale = objects.filter((object) => !stamps.isCurrent(object.output, object.hash))
  await mapLimited(parallel, stale, async ({ source, compiler, flags, output, hash }) => {
    const path = `${variantDirectory(variant)}/${output}`
    mkdirSync(dirname(join(pkg.directory, path)), { recursive: true })
    // Debug information names files as the package does, wherever it is checked out.
    const relocated = `-ffile-prefix-map=${pkg.directory}=.`
    await runCompiler(compiler, [...flags, relocated, '-c', source, '-o', path], pkg, source)
    stamps.set(output, hash)
  })
}

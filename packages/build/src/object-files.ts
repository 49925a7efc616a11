import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

import { type Compiler, type Language, languageOf, runCompiler } from './compiler.ts'
import { nvccFlags } from './cuda.ts'
import { compileFlags, driverFlags } from './flags.ts'
import type { LoadedPackage } from './load-package.ts'
import { writeNodeSymbols } from './node-symbols.ts'
import type { Platform } from './platform.ts'
import { findSources, hashHeaders } from './sources.ts'
import { hashOf, type Stamps } from './stamps.ts'
import type { NativeTarget, Variant } from './targets.ts'
import type { Toolchain } from './toolchain.ts'

const PARALLEL = 2

export interface Build {
  readonly pkg: LoadedPackage
  readonly variant: Variant
  /** Whether the code counts how often each line runs. */
  readonly coverage: boolean
  readonly platform: Platform
  /** The directory of the artifacts and objects, relative to the package. */
  readonly directory: string
  readonly toolchain: Toolchain
  /** The architectures for CUDA sources that do not name any. */
  readonly architectures: readonly string[]
  readonly stamps: Stamps
}

export interface ObjectFile {
  /** The path relative to the package. */
  readonly source: string
  readonly language: Language
  readonly compiler: Compiler
  readonly flags: readonly string[]
  /** The path relative to the directory of the build. */
  readonly output: string
  readonly hash: string
}

export function planObjects(build: Build, target: NativeTarget): ObjectFile[] {
  const { pkg, platform, directory, toolchain } = build
  const sources = findSources(pkg.directory, target, platform)
  if (target.kind === 'addon' && platform.os === 'win32')
    sources.push(writeNodeSymbols(pkg.directory, `${directory}/node_symbols.c`))
  const headers = hashHeaders(pkg.directory, target, sources)
  return sources.map((source) => {
    const language = languageOf(source)
    const compiler = toolchain.compilers.get(language)!
    const flags = compileFlags(target, language, build)
    const content = readFileSync(join(pkg.directory, source))
    const output = `objects/${target.name}/${source}.o`
    const hash = hashOf([compiler.identity, ...flags, headers, source, content])
    return { source, language, compiler, flags, output, hash }
  })
}

const driverDirectory = join(import.meta.dirname, '../csrc')

export function planFuzzDriver({ pkg, toolchain }: Build): ObjectFile[] {
  const compiler = toolchain.compilers.get('c')!
  const contents = globSync('*', { cwd: driverDirectory })
    .toSorted()
    .map((file) => readFileSync(join(driverDirectory, file)))
  return globSync('*.c', { cwd: driverDirectory }).map((file) => ({
    source: relative(pkg.directory, join(driverDirectory, file)),
    language: 'c' as const,
    compiler,
    flags: driverFlags,
    output: `objects/fuzz-driver/${file}.o`,
    hash: hashOf([compiler.identity, ...driverFlags, file, ...contents]),
  }))
}

/** Debug information has paths relative to the package, which do not depend on the checkout. */
export function relocationFlags({ directory }: LoadedPackage): string[] {
  return [`-ffile-prefix-map=${directory}=.`]
}

/** Compiles the objects that are not up to date. The first failure stops the rest from starting. */
export async function compileObjects({ pkg, directory, stamps }: Build, objects: readonly ObjectFile[]): Promise<void> {
  const queue = objects.filter((object) => !stamps.isCurrent(object.output, object.hash))
  const compileNext = async (): Promise<void> => {
    for (let object = queue.shift(); object !== undefined; object = queue.shift()) {
      const { source, language, compiler, flags, output, hash } = object
      const path = `${directory}/${output}`
      mkdirSync(dirname(join(pkg.directory, path)), { recursive: true })
      const relocated = language === 'cuda' ? nvccFlags(relocationFlags(pkg)) : relocationFlags(pkg)
      try {
        await runCompiler(compiler, [...flags, ...relocated, '-c', source, '-o', path], pkg, source)
      } catch (error) {
        queue.length = 0
        throw error
      }
      stamps.set(output, hash)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, compileNext))
}

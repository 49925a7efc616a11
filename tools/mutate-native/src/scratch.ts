import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { type Artifact, buildPackage, hostPlatform, type NativeTarget, ToolError } from '@tenon/build'
import { findSources, findToolchain, hashOf, type LoadedPackage } from '@tenon/build/internal'

import { groupBy } from './group-by.ts'
import { type Compilation, keepCompiling } from './compile.ts'
import { topicOf } from './mutant.ts'
import { Refusals } from './refusals.ts'
import { type NumberedMutant, render, type Rendered } from './render.ts'

/** The variant whose code is not optimized, so that a mutant has the effect that its text has. */
const VARIANT = 'debug'

/** Undefined values would be other ones in each run. */
const flags = ['-w', '-ftrivial-auto-var-init=zero']

/** A copy of a package in which files have mutants. */
export interface Scratch {
  readonly pkg: LoadedPackage
  /** The mutants that the compiler accepts. */
  readonly mutants: readonly NumberedMutant[]
  /** The test programs. */
  readonly programs: readonly Artifact[]
  /** The path of the first library. */
  readonly library: string
}

/**
 * Copies the native sources of a package, with mutants, and builds its libraries and test programs.
 *
 * @param directory of the copy, which keeps the objects of earlier runs.
 * @throws {ToolError} if a file does not compile without its mutants.
 */
export async function buildScratch(
  pkg: LoadedPackage,
  directory: string,
  mutants: readonly NumberedMutant[],
): Promise<Scratch> {
  const copy = copyPackage(pkg, directory)
  const refusals = new Refusals(directory, hashHeaders(pkg))
  const kept: NumberedMutant[] = []
  for (const [file, own] of groupBy(mutants, (mutant) => mutant.file)) {
    const source = readFileSync(join(pkg.directory, file), 'utf8')
    const write = (some: readonly NumberedMutant[]): Rendered => {
      const rendered = render(file, source, some)
      writeFileSync(join(directory, file), some.length === 0 ? source : rendered.text)
      return rendered
    }
    const known = refusals.find(source, own)
    const accepted = known ?? (await keepCompiling(file, own, write, await compilationOf(copy, file)))
    write(accepted)
    refusals.add(source, own, accepted)
    kept.push(...accepted)
  }
  refusals.save()
  const artifacts = await buildPackage(copy, { variant: VARIANT, kinds: ['shared', 'addon', 'executable', 'test'] })
  const programs = artifacts.filter(({ target }) => target.kind === 'test')
  return { pkg: copy, mutants: kept, programs, library: artifacts[0]!.path }
}

function hashHeaders({ directory }: LoadedPackage): string {
  const headers = globSync('{csrc/!(test|fuzz|fixture),include}/**/*.{h,def}', { cwd: directory }).toSorted()
  return hashOf(headers.map((header) => readFileSync(join(directory, header))))
}

function copyPackage(pkg: LoadedPackage, directory: string): LoadedPackage {
  mkdirSync(directory, { recursive: true })
  const folders = new Set(
    pkg.native.targets.flatMap(({ sources, includes = [] }) => [...sources, ...includes].map(topFolder)),
  )
  for (const folder of folders) {
    if (folder === 'node_modules') continue
    rmSync(join(directory, folder), { recursive: true, force: true })
    cpSync(join(pkg.directory, folder), join(directory, folder), { recursive: true })
  }
  if (existsSync(join(pkg.directory, 'node_modules')) && !existsSync(join(directory, 'node_modules')))
    symlinkSync(join(pkg.directory, 'node_modules'), join(directory, 'node_modules'))
  const header = join(directory, 'mutants/mutant.h')
  mkdirSync(dirname(header), { recursive: true })
  cpSync(join(import.meta.dirname, '../csrc/mutant.h'), header)
  const targets = pkg.native.targets.map((target) => ({
    ...target,
    includes: ['mutants', ...(target.includes ?? [])],
    flags: [...(target.flags ?? []), ...flags],
  }))
  return { ...pkg, directory, native: { ...pkg.native, targets } }
}

function topFolder(path: string): string {
  return path.split('/', 1)[0]!
}

/** How the first target that has a file compiles it. A header is compiled as a file that only includes it. */
async function compilationOf(pkg: LoadedPackage, file: string): Promise<Compilation> {
  const target = targetOf(pkg, file)
  const options = { variant: VARIANT, platform: hostPlatform, portable: false, directory: pkg.directory } as const
  const { compilers } = await findToolchain(['c'], options)
  const defines = Object.entries({ TN_VERSION: `"${pkg.version}"`, ...target.defines })
  return {
    compiler: compilers.get('c')!,
    directory: pkg.directory,
    flags: [
      '-std=c11',
      '-D_GNU_SOURCE',
      ...(file.endsWith('.h') ? ['-x', 'c'] : []),
      ...(target.includes ?? []).map((folder) => `-I${folder}`),
      ...defines.map(([name, value]) => `-D${name}=${value}`),
    ],
  }
}

function targetOf(pkg: LoadedPackage, file: string): NativeTarget {
  const owner = pkg.native.targets.find(
    (target) =>
      target.kind !== 'fuzz' &&
      findSources(pkg.directory, target, hostPlatform).some((source) =>
        file.endsWith('.h') ? topicOf(source) === topicOf(file) : source === file,
      ),
  )
  if (owner === undefined) throw new ToolError(`${pkg.name} has no target with ${file}`)
  return owner
}

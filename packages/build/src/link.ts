import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { writeBuildId } from './build-id.ts'
import { checkLibraryFiles } from './checks/circles.ts'
import { checkLibrary } from './checks/library.ts'
import { type Compiler, languageOf, needsCxx, runCompiler } from './compiler.ts'
import { nvccFlags } from './cuda.ts'
import { linkCxxStubs } from './cxx-stubs.ts'
import { keepsDebugFile, linkFlags, stripFlags } from './flags.ts'
import type { LoadedPackage } from './load-package.ts'
import { type Build, compileObjects, type ObjectFile, relocationFlags } from './object-files.ts'
import { artifactName, sharedLibraryName } from './platform.ts'
import { isLoadable, isShipped, type NativeTarget } from './targets.ts'

/** How the file of a target is linked. */
export interface Link {
  readonly target: NativeTarget
  readonly linker: Compiler
  readonly flags: readonly string[]
  readonly objects: readonly ObjectFile[]
}

/** Returns the language whose compiler links a target. A program that uses a C++ library must contain the sanitizers of C++. */
export function linkLanguage(pkg: LoadedPackage, target: NativeTarget): 'c' | 'c++' | 'cuda' {
  if (target.sources.some((source) => languageOf(source) === 'cuda')) return 'cuda'
  const used = pkg.native.targets.filter(({ name }) => !isLoadable(target) && target.uses?.includes(name))
  return [target, ...used].some(hasCxx) ? 'c++' : 'c'
}

function hasCxx(target: NativeTarget): boolean {
  return target.sources.some((source) => needsCxx(languageOf(source)))
}

/** Plans how the file of a target is linked. */
export function planLink(build: Build, target: NativeTarget, objects: readonly ObjectFile[]): Link {
  const { pkg, platform, directory, toolchain } = build
  const linked = (name: string): string =>
    toolchain.zig && platform.os === 'win32' ? `${name}.lib` : sharedLibraryName(name, platform)
  const flags = linkFlags(
    target,
    build,
    (target.uses ?? []).map((name) => `${directory}/${linked(name)}`),
  )
  const language = linkLanguage(pkg, target)
  // With zig, a library uses the C++ runtime of the process, for which the linker gets stubs. That of Windows is zig's own.
  const asC = toolchain.zig && language === 'c++' && platform.os !== 'win32' && target.cxxRuntime !== 'static'
  const linker = toolchain.compilers.get(asC ? 'c' : language)!
  return { target, linker, flags: language === 'cuda' ? nvccFlags(flags) : flags, objects }
}

/**
 * Compiles and links the file of a target. The linker writes to a directory of this process, from which the file is moved, so that
 * a process that has mapped the old library keeps it. The file has its final name there, because a DLL contains its name.
 *
 * @param hash of the inputs, which identifies the file and its debug information.
 */
export async function linkTarget(build: Build, link: Link, hash: string): Promise<void> {
  const { pkg, variant, platform, directory, toolchain } = build
  const { target, linker, flags } = link
  const output = artifactName(target, platform)
  const temporary = `${directory}/${process.pid}`
  const at = (...names: string[]): string => join(pkg.directory, ...names)
  const inputs = await compileInputs(build, link)
  const run = (...last: readonly string[]): Promise<void> =>
    runCompiler(linker, ['-o', `${temporary}/${output}`, ...inputs, ...flags, ...last], pkg, output)
  // zig links other files not with a DLL itself, but with a library that it makes for this purpose.
  const importLibrary =
    toolchain.zig && platform.os === 'win32' && target.kind === 'shared' ? `${target.name}.lib` : undefined
  mkdirSync(at(temporary), { recursive: true })
  try {
    const more = importLibrary ? [`-Wl,--out-implib,${temporary}/${importLibrary}`] : []
    if (needsStubs(build, link)) more.push(...(await linkStubs(build, link, inputs, temporary)))
    const isRelease = isShipped(target) && variant === 'release'
    if (isRelease && !target.fixture) {
      const identified = platform.os === 'linux' ? [buildId(build, temporary, hash)] : []
      const all = [...more, ...(linkLanguage(pkg, target) === 'cuda' ? nvccFlags(identified) : identified)]
      if (keepsDebugFile(platform, toolchain.zig)) {
        await run(...all)
        renameSync(at(temporary, output), at(directory, `${output}.debug`))
      }
      const strip = stripFlags(platform, toolchain.zig)
      await run(...all, ...(linkLanguage(pkg, target) === 'cuda' ? nvccFlags(strip) : strip))
    } else await run(...more)
    if (isRelease) await check(build, link, at(temporary, output))
    if (importLibrary) renameSync(at(temporary, importLibrary), at(directory, importLibrary))
    renameSync(at(temporary, output), at(directory, output))
  } finally {
    rmSync(at(temporary), { recursive: true, force: true })
  }
}

/**
 * Compiles what is not up to date, and returns the arguments for the linker. One process of zig compiles all C sources of a library and
 * links it, because each process takes seconds to start.
 */
async function compileInputs(build: Build, { objects }: Link): Promise<string[]> {
  const { pkg, directory, toolchain } = build
  const isTogether = ({ language }: ObjectFile): boolean => toolchain.zig && language === 'c'
  const separate = objects.filter((object) => !isTogether(object))
  const together = objects.filter(isTogether)
  await compileObjects(build, separate)
  return [
    ...(together.length > 0 ? [...together[0]!.flags, ...relocationFlags(pkg)] : []),
    ...together.map(({ source }) => source),
    ...separate.map(({ output }) => `${directory}/${output}`),
  ]
}

/** Returns the argument that gives a file its build ID. */
function buildId({ pkg, toolchain }: Build, temporary: string, hash: string): string {
  return toolchain.zig
    ? writeBuildId(pkg.directory, `${temporary}/build_id.S`, hash)
    : `-Wl,--build-id=0x${hash.slice(0, 40)}`
}

function needsStubs({ toolchain, platform }: Build, { target, linker }: Link): boolean {
  return toolchain.zig && platform.os !== 'win32' && hasCxx(target) && linker === toolchain.compilers.get('c')
}

async function linkStubs(build: Build, link: Link, inputs: readonly string[], directory: string): Promise<string[]> {
  const { pkg, platform } = build
  // The draft of a program is a library, because only those may leave symbols undefined.
  const open = [
    ...(isLoadable(link.target) ? [] : ['-shared']),
    ...(platform.os === 'darwin' ? ['-Wl,-undefined,dynamic_lookup'] : []),
  ]
  const flags = link.flags.filter((flag) => flag !== '-Wl,--no-undefined')
  const draft = `${directory}/draft/${artifactName(link.target, platform)}`
  mkdirSync(join(pkg.directory, directory, 'draft'), { recursive: true })
  await runCompiler(link.linker, ['-o', draft, ...inputs, ...flags, ...open], pkg, draft)
  return linkCxxStubs(
    { pkg, platform, compiler: link.linker, directory: `${directory}/stubs` },
    draft,
    link.target.name,
  )
}

async function check({ pkg, platform, directory, toolchain }: Build, link: Link, path: string): Promise<void> {
  const { target, objects } = link
  if (!isShipped(target)) return
  if (pkg.native.acyclic && !toolchain.zig) {
    const paths = objects.map(({ source, output }) => [source, join(pkg.directory, directory, output)] as const)
    const { name, includes = [] } = target
    await checkLibraryFiles({ name, directory: pkg.directory, objects: new Map(paths), includes }, pkg.native.topics)
  }
  checkLibrary(path, target, { platform, hasCxx: hasCxx(target) && target.cxxRuntime !== 'static' })
}

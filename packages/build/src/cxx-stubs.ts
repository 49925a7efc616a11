import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { readBinary } from '@tenon/binary'

import { type Compiler, runCompiler } from './compiler.ts'
import type { LoadedPackage } from './load-package.ts'
import type { Platform } from './platform.ts'
import { ToolError } from './tool-error.ts'

/** What {@link linkCxxStubs} needs of a build. */
interface StubBuild {
  readonly pkg: LoadedPackage
  readonly platform: Platform
  /** Compiles C, and links. */
  readonly compiler: Compiler
  /** A directory of this process for the stubs, relative to the package. */
  readonly directory: string
}

/** The libraries of the C++ runtime of a process, each with the symbols that it exports. The first one that matches has a symbol. */
function runtimeOf({ os }: Platform): readonly { readonly library: string; readonly symbols: RegExp }[] {
  if (os === 'darwin') return [{ library: '/usr/lib/libc++.1.dylib', symbols: /^(_Z|__cxa_|__gxx_)/ }]
  return [
    { library: 'libgcc_s.so.1', symbols: /^_Unwind_/ },
    { library: 'libstdc++.so.6', symbols: /^(_Z|__cxa_(?!finalize$|atexit$|thread_atexit_impl$)|__gxx_)/ },
  ]
}

/**
 * Makes a link stub of each library of the C++ runtime of a process, so that a library with C++ sources uses this runtime and not
 * the one that zig would link into it: exceptions of other libraries would be unknown to that. A stub is a library with the name of
 * the real one and the symbols that the sources use.
 *
 * @param draft the library, linked with its undefined symbols left open
 * @returns the paths of the stubs, relative to the package
 * @throws {ToolError} if the sources use symbols that only zig's C++ library has
 */
export async function linkCxxStubs(build: StubBuild, draft: string, name: string): Promise<string[]> {
  const { pkg, platform, compiler, directory } = build
  const undefinedNames = readBinary(join(pkg.directory, draft)).imports.map((symbol) => symbol.name)
  const foreign = undefinedNames.filter((symbol) => /^_Z\w*St3__1/.test(symbol))
  if (foreign.length > 0) {
    throw new ToolError(
      `${pkg.name}: ${name} uses parts of the C++ library whose binary form depends on the compiler, such as ${foreign[0]}.\n` +
        `Build it on ${platform.name} itself, or set "cxxRuntime: 'static'" on it, with which exceptions cannot leave the library.`,
    )
  }
  const paths: string[] = []
  const left = new Set(undefinedNames)
  for (const { library, symbols } of runtimeOf(platform)) {
    const used = [...left].filter((symbol) => symbols.test(symbol))
    for (const symbol of used) left.delete(symbol)
    if (used.length === 0) continue
    const source = `${directory}/${library.split('/').at(-1)}.c`
    const path = source.replace(/\.c$/, '')
    mkdirSync(dirname(join(pkg.directory, source)), { recursive: true })
    writeFileSync(join(pkg.directory, source), used.map((symbol) => `void ${symbol}(void) {}\n`).join(''))
    const called =
      platform.os === 'darwin' ? ['-dynamiclib', `-Wl,-install_name,${library}`] : ['-shared', `-Wl,-soname,${library}`]
    await runCompiler(compiler, [...called, '-nostdlib', '-w', '-fno-builtin', source, '-o', path], pkg, path)
    paths.push(path)
  }
  return paths
}

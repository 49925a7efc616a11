import { ToolError } from './tool-error.ts'
import { runCommand } from './run-command.ts'
import type { NativeTarget, Variant } from './targets.ts'

/** A compiler that answered, with what it says of itself: part of every hash, so that another compiler rebuilds. */
export interface Compiler {
  readonly command: string
  readonly args: readonly string[]
  readonly identity: string
}

/** The languages, by extension of the source. */
export type Language = 'c' | 'c++'

const defaults: Record<Language, { variable: 'CC' | 'CXX'; unix: string; windows: string; name: string }> = {
  c: { variable: 'CC', unix: 'cc', windows: 'gcc', name: 'C' },
  'c++': { variable: 'CXX', unix: 'c++', windows: 'g++', name: 'C++' },
}

const installHints: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Debian, Ubuntu: apt-get install gcc g++ · Fedora: dnf install gcc gcc-c++ · Alpine: apk add build-base',
  darwin: 'xcode-select --install',
  win32: 'install MinGW-w64 (winget install MSYS2.MSYS2, then pacman -S mingw-w64-ucrt-x86_64-gcc) and put it on PATH',
}

/** The language of a source file. */
export function languageOf(source: string): Language {
  if (source.endsWith('.c')) return 'c'
  if (source.endsWith('.cc')) return 'c++'
  throw new ToolError(`${source}: a source is a .c or a .cc file`)
}

/**
 * Finds the compiler of a language: what `CC` or `CXX` says (words are split at spaces), or the platform's usual one.
 *
 * @throws {ToolError} if it can't be run, saying what to install.
 */
export async function findCompiler(language: Language, env: NodeJS.ProcessEnv = process.env): Promise<Compiler> {
  const { variable, unix, windows, name } = defaults[language]
  const chosen = env[variable]?.trim()
  const [command = '', ...args] = (chosen || (process.platform === 'win32' ? windows : unix)).split(/\s+/)
  try {
    const version = await runCommand(command, [...args, '--version'], { env })
    const target = await runCommand(command, [...args, '-dumpmachine'], { env })
    if (version.code === 0)
      return { command, args, identity: `${command} ${args.join(' ')}\n${version.stdout}${target.stdout}` }
    throw new ToolError(`${command} --version failed (${variable}):\n${version.stderr}`)
  } catch (error) {
    if (error instanceof ToolError) throw error
    const from = chosen ? `${variable}=${chosen}` : `${variable} is not set, so ${command} was tried`
    const hint = installHints[process.platform] ?? `install a ${name} compiler`
    throw new ToolError(
      `A ${name} compiler is needed to build the native code, and "${command}" could not be run (${from}).\n` +
        `Install one: ${hint}\nOr name yours in ${variable}.`,
    )
  }
}

const variantFlags: Record<Variant, readonly string[]> = {
  release: ['-O2', '-g1'],
  debug: ['-O0', '-g'],
  asan: ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined', '-fno-omit-frame-pointer'],
}

/** The flags to compile one source of a target, all but input and output. */
export function compileFlags(target: NativeTarget, language: Language, variant: Variant, version: string): string[] {
  const defines = { TN_VERSION: `"${version}"`, ...target.defines }
  return [
    ...(language === 'c'
      ? // Strict C11 makes the system's headers hide what isn't ISO C; the core needs POSIX and Linux calls.
        ['-std=c11', '-D_GNU_SOURCE']
      : ['-std=c++17']),
    ...variantFlags[variant],
    ...(process.platform === 'win32' ? [] : ['-fPIC']),
    '-fvisibility=hidden',
    // A kernel's C++ exception passes through frames of the core on its way to the guard.
    '-fexceptions',
    '-Wall',
    '-Wextra',
    '-Werror',
    ...(target.includes ?? []).map((directory) => `-I${directory}`),
    ...Object.entries(defines).map(([name, value]) => `-D${name}=${value}`),
    ...(target.flags ?? []),
  ]
}

/** What a Windows program has without naming it. */
const inWindowsRuntime = new Set(['dl', 'm', 'pthread'])

/** The flags to link a target whose objects and used libraries are given, all but the output. */
export function linkFlags(target: NativeTarget, variant: Variant, used: readonly string[]): string[] {
  const sanitize = variantFlags[variant].filter((flag) => flag.startsWith('-fsanitize'))
  const libraries = (target.libraries ?? [])
    .filter((name) => process.platform !== 'win32' || !inWindowsRuntime.has(name))
    .map((name) => `-l${name}`)
  return [...sanitize, ...platformLinkFlags(target, variant), ...used, ...libraries]
}

function platformLinkFlags(target: NativeTarget, variant: Variant): string[] {
  const shared = target.kind === 'shared'
  const unresolved = shared ? (target.unresolved ?? []) : []
  if (process.platform === 'win32') return [...(shared ? ['-shared'] : []), '-static-libgcc', '-static-libstdc++']
  if (process.platform === 'darwin') {
    const rpath = '-Wl,-rpath,@loader_path'
    if (!shared) return [rpath]
    // There is no nodelete here: libraries are opened with RTLD_NODELETE instead.
    const name = `-Wl,-install_name,@rpath/lib${target.name}.dylib`
    return ['-dynamiclib', rpath, name, ...unresolved.map((symbol) => `-Wl,-U,_${symbol}`)]
  }
  const hardened = ['-Wl,-z,now', '-Wl,-z,relro', '-Wl,-rpath,$ORIGIN']
  if (!shared) return hardened
  // The sanitizer's own symbols come from the process, so only the other variants can be complete.
  const complete = unresolved.length === 0 && variant !== 'asan' ? ['-Wl,--no-undefined'] : []
  // A library with a thread, loaded in a worker only, crashes when the worker ends if it is unmapped: nodelete.
  return ['-shared', '-Wl,-z,nodelete', ...hardened, ...complete, `-Wl,-soname,lib${target.name}.so`]
}

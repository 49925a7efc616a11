import type { Compiler, Language } from './compiler.ts'
import { findNvcc } from './cuda.ts'
import { hostPlatform, type Platform } from './platform.ts'
import { runCommand } from './run-command.ts'
import type { Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'
import { findZig, zigTarget } from './zig.ts'

/** The compilers of a build. */
export interface Toolchain {
  readonly compilers: ReadonlyMap<Language, Compiler>
  /** Whether they are zig's, which compile for other platforms and for older systems than this one. */
  readonly zig: boolean
}

/**
 * zig would trap at undefined behaviour. With a gcc of this machine, its code for arm64 would call functions for atomic operations,
 * whose object has a slow memcpy that takes the place of that of the C library.
 */
function zigFlags({ os }: Platform): string[] {
  return ['-fno-sanitize=undefined', ...(os === 'linux' ? ['--gcc-toolchain=/nonexistent'] : [])]
}

/** What compilers are chosen for. */
export interface ToolchainOptions {
  readonly variant: Variant
  readonly platform: Platform
  /** Whether the code must run on the oldest version of the platform. */
  readonly portable: boolean
  /** The directory of the package. */
  readonly directory: string
}

const c = { variable: 'CC', unix: 'cc', windows: 'gcc', clang: 'clang', name: 'C' }

/** The variable that names the compiler of a language, and the compilers that are tried without it. */
export const compilerNames: Readonly<Record<Exclude<Language, 'cuda'>, typeof c>> = {
  c,
  assembly: c,
  'c++': { variable: 'CXX', unix: 'c++', windows: 'g++', clang: 'clang++', name: 'C++' },
}

/** How a compiler is installed. */
export const installHints: Record<Platform['os'], string> = {
  linux: 'Debian, Ubuntu: apt-get install gcc g++ · Fedora: dnf install gcc gcc-c++ · Alpine: apk add build-base',
  darwin: 'xcode-select --install',
  win32: 'MinGW-w64 on PATH (winget install MSYS2.MSYS2, then pacman -S mingw-w64-ucrt-x86_64-gcc)',
}

/**
 * Finds the compilers of some languages: for this platform `CC` and `CXX` (split at spaces), or the usual compilers, and for other
 * platforms zig. libFuzzer requires clang, and CUDA nvcc.
 *
 * @throws {ToolError} that says what to install
 */
export async function findToolchain(languages: readonly Language[], options: ToolchainOptions): Promise<Toolchain> {
  const { variant, platform, portable, directory } = options
  const zig = platform !== hostPlatform || portable
  const compilers = new Map<Language, Compiler>()
  if (zig) {
    if (variant !== 'release' && variant !== 'debug')
      throw new ToolError(
        `the variant ${variant} can only be built on ${platform.name} itself, because zig has no sanitizers`,
      )
    const found = await findZig(directory)
    for (const language of new Set(languages)) {
      if (language === 'cuda') throw new ToolError('CUDA can only be built on its platform itself, with nvcc')
      compilers.set(language, {
        command: found.path,
        args: [language === 'c++' ? 'c++' : 'cc', '-target', zigTarget(platform), ...zigFlags(platform)],
        identity: `${found.identity} ${zigTarget(platform)}`,
      })
    }
  } else {
    for (const language of new Set(languages))
      compilers.set(language, language === 'cuda' ? await findNvcc() : await findCompiler(language, variant))
  }
  return { compilers, zig }
}

async function findCompiler(language: Exclude<Language, 'cuda'>, variant: Variant): Promise<Compiler> {
  const { variable, unix, windows, clang, name } = compilerNames[language]
  const chosen = variant === 'libfuzzer' ? clang : process.env[variable]?.trim()
  const [command = '', ...args] = (chosen || (hostPlatform.os === 'win32' ? windows : unix)).split(/\s+/)
  try {
    const version = await runCommand(command, [...args, '--version'])
    const target = await runCommand(command, [...args, '-dumpmachine'])
    const identity = `${command} ${args.join(' ')}\n${version.stdout}${target.stdout}`
    if (version.code === 0) return { command, args, identity }
    throw new ToolError(`${command} --version failed. ${variable} must be gcc or clang:\n${version.stderr}`)
  } catch (error) {
    if (error instanceof ToolError) throw error
    const from = chosen ? `${variable}=${chosen}` : `${variable} is not set, so ${command} was tried`
    throw new ToolError(
      `A ${name} compiler is needed to build the native code, and "${command}" could not be run (${from}).\n` +
        `Install one: ${installHints[hostPlatform.os]}\nOr set ${variable} to your compiler.`,
    )
  }
}

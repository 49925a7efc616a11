import type { LoadedPackage } from './load-package.ts'
import { hostPlatform, type Platform } from './platform.ts'
import { runCommand } from './run-command.ts'
import type { Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'

/** A compiler that can be run. Its identity is part of every hash, so a change of the compiler causes a rebuild. */
export interface Compiler {
  readonly command: string
  readonly args: readonly string[]
  readonly identity: string
}

export type Language = 'c' | 'c++' | 'assembly'

export type Toolchain = ReadonlyMap<Language, Compiler>

const c = { variable: 'CC', unix: 'cc', windows: 'gcc', clang: 'clang', name: 'C' }

const names: Record<Language, typeof c> = {
  c,
  assembly: c,
  'c++': { variable: 'CXX', unix: 'c++', windows: 'g++', clang: 'clang++', name: 'C++' },
}

const installHints: Record<Platform['os'], string> = {
  linux: 'Debian, Ubuntu: apt-get install gcc g++ · Fedora: dnf install gcc gcc-c++ · Alpine: apk add build-base',
  darwin: 'xcode-select --install',
  win32: 'MinGW-w64 on PATH (winget install MSYS2.MSYS2, then pacman -S mingw-w64-ucrt-x86_64-gcc)',
}

export function languageOf(source: string): Language {
  if (source.endsWith('.c')) return 'c'
  if (source.endsWith('.cc')) return 'c++'
  if (source.endsWith('.S')) return 'assembly'
  throw new ToolError(`a source must be a .c, .cc or .S file, got ${source}`)
}

/** Uses `CC` and `CXX` (split at spaces), or the usual compilers. libFuzzer requires clang. @throws {ToolError} */
export async function findToolchain(
  languages: readonly Language[],
  { variant, platform }: { readonly variant: Variant; readonly platform: Platform },
): Promise<Toolchain> {
  if (platform !== hostPlatform)
    throw new ToolError(`native code for ${platform.name} cannot be built on ${hostPlatform.name}`)
  const toolchain = new Map<Language, Compiler>()
  for (const language of new Set(languages)) toolchain.set(language, await findCompiler(language, variant))
  return toolchain
}

/** `what` is the name of the output for messages. @throws {ToolError} with the compiler's message and the command. */
export async function runCompiler(
  compiler: Compiler,
  args: readonly string[],
  pkg: LoadedPackage,
  what: string,
): Promise<void> {
  const result = await runCommand(compiler.command, [...compiler.args, ...args], { cwd: pkg.directory })
  if (result.code === 0) return
  const command = [compiler.command, ...compiler.args, ...args].join(' ')
  throw new ToolError(`${pkg.name}: ${what} did not build\n${result.stderr || result.stdout}\n  ${command}`)
}

async function findCompiler(language: Language, variant: Variant): Promise<Compiler> {
  const { variable, unix, windows, clang, name } = names[language]
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
    const hint = installHints[hostPlatform.os]
    throw new ToolError(
      `A ${name} compiler is needed to build the native code, and "${command}" could not be run (${from}).\n` +
        `Install one: ${hint}\nOr set ${variable} to your compiler.`,
    )
  }
}

import type { LoadedPackage } from './load-package.ts'
import { runCommand } from './run-command.ts'
import type { Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'

/** A compiler that can be run. Its identity is part of every hash, so a change of the compiler causes a rebuild. */
export interface Compiler {
  readonly command: string
  readonly args: readonly string[]
  readonly identity: string
  /** The platform of the compiled code, such as `x86_64-linux-gnu`, `arm64-apple-darwin24.6.0`, `x86_64-w64-mingw32`. */
  readonly machine: string
}

export type Language = 'c' | 'c++' | 'assembly'

export type Toolchain = ReadonlyMap<Language, Compiler>

const c = { variable: 'CC', unix: 'cc', windows: 'gcc', clang: 'clang', name: 'C' }

const names: Record<Language, typeof c> = {
  c,
  assembly: c,
  'c++': { variable: 'CXX', unix: 'c++', windows: 'g++', clang: 'clang++', name: 'C++' },
}

const installHints: Partial<Record<NodeJS.Platform, string>> = {
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
export async function findToolchain(languages: readonly Language[], variant: Variant): Promise<Toolchain> {
  const toolchain = new Map<Language, Compiler>()
  for (const language of new Set(languages)) toolchain.set(language, await findCompiler(language, variant))
  return toolchain
}

/** The machine for which all compilers of a toolchain compile. */
export function machineOf(toolchain: Toolchain): string {
  return toolchain.values().next().value!.machine
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
  const [command = '', ...args] = (chosen || (process.platform === 'win32' ? windows : unix)).split(/\s+/)
  try {
    const version = await runCommand(command, [...args, '--version'])
    const target = await runCommand(command, [...args, '-dumpmachine'])
    const identity = `${command} ${args.join(' ')}\n${version.stdout}${target.stdout}`
    if (version.code === 0) return { command, args, identity, machine: target.stdout.trim() }
    throw new ToolError(`${command} --version failed. ${variable} must be gcc or clang:\n${version.stderr}`)
  } catch (error) {
    if (error instanceof ToolError) throw error
    const from = chosen ? `${variable}=${chosen}` : `${variable} is not set, so ${command} was tried`
    const hint = installHints[process.platform] ?? `a ${name} compiler`
    throw new ToolError(
      `A ${name} compiler is needed to build the native code, and "${command}" could not be run (${from}).\n` +
        `Install one: ${hint}\nOr set ${variable} to your compiler.`,
    )
  }
}

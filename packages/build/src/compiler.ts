import type { LoadedPackage } from './load-package.ts'
import { runCommand } from './run-command.ts'
import type { Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'

/** A compiler that answered, with what it says of itself: part of every hash, so that another compiler rebuilds. */
export interface Compiler {
  readonly command: string
  readonly args: readonly string[]
  readonly identity: string
}

/** The languages, by extension of the source. */
export type Language = 'c' | 'c++'

/** The compilers of the languages that something is made of. */
export type Toolchain = ReadonlyMap<Language, Compiler>

const names: Record<Language, { variable: string; unix: string; windows: string; clang: string; name: string }> = {
  c: { variable: 'CC', unix: 'cc', windows: 'gcc', clang: 'clang', name: 'C' },
  'c++': { variable: 'CXX', unix: 'c++', windows: 'g++', clang: 'clang++', name: 'C++' },
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
 * Finds the compilers of some languages: what `CC` and `CXX` say (words are split at spaces), or the platform's usual ones;
 * libFuzzer is clang's.
 *
 * @throws {ToolError} if one can't be run, saying what to install.
 */
export async function findToolchain(languages: readonly Language[], variant: Variant): Promise<Toolchain> {
  const toolchain = new Map<Language, Compiler>()
  for (const language of new Set(languages)) toolchain.set(language, await findCompiler(language, variant))
  return toolchain
}

/**
 * Runs a compiler in a package's directory; `what` names the outcome for the error.
 *
 * @throws {ToolError} with the compiler's own words, and the command.
 */
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
    if (version.code === 0) return { command, args, identity }
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

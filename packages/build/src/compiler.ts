import type { LoadedPackage } from './load-package.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

/** A compiler that can be run. Its identity is part of every hash, so a change of the compiler causes a rebuild. */
export interface Compiler {
  readonly command: string
  readonly args: readonly string[]
  readonly identity: string
}

/** The languages of sources. */
export type Language = 'c' | 'c++' | 'assembly' | 'cuda'

const extensions: Readonly<Record<string, Language>> = {
  '.c': 'c',
  '.cc': 'c++',
  '.cpp': 'c++',
  '.cxx': 'c++',
  '.S': 'assembly',
  '.cu': 'cuda',
}

/** Returns the language of a source by its extension. @throws {ToolError} for another extension */
export function languageOf(source: string): Language {
  const language = extensions[/\.\w+$/.exec(source)?.[0] ?? '']
  if (language) return language
  throw new ToolError(`a source must be a .c, .cc, .cpp, .cxx, .cu or .S file, got ${source}`)
}

/** Whether code in a language needs the C++ runtime. */
export function needsCxx(language: Language): boolean {
  return language === 'c++' || language === 'cuda'
}

/** `what` is the name of the output for messages. @throws {ToolError} with the compiler's message and the command. */
export async function runCompiler(
  compiler: Compiler,
  args: readonly string[],
  pkg: LoadedPackage,
  what: string,
): Promise<void> {
  const result = await runCommand(compiler.command, [...compiler.args, ...args], { cwd: pkg.directory })
  if (result.code === 0) {
    // When it links, zig compiles parts of its C library, whose warnings are not those of the package.
    if (result.stderr && args.includes('-c')) pkg.onWarning?.(result.stderr.trimEnd())
    return
  }
  const command = [compiler.command, ...compiler.args, ...args].join(' ')
  throw new ToolError(`${pkg.name}: ${what} did not build\n${result.stderr || result.stdout}\n  ${command}`)
}

import type { Language } from '../compiler.ts'
import { nvccFlags } from '../cuda.ts'
import { compileFlags, linkFlags, stripFlags } from '../flags.ts'
import { hostPlatform, sharedLibraryName } from '../platform.ts'
import type { SharedTarget } from '../targets.ts'
import type { FoundCompiler } from './find-compiler.ts'
import { type CompileRequest, extensionOf } from './options.ts'

/** The arguments that compile and link a source with one run of the compiler. */
export interface InlineCommand {
  /** The file name of the library, as the linker must write it: a DLL contains its name. */
  readonly fileName: string
  /** The arguments before the source. */
  readonly compile: readonly string[]
  /** The arguments behind the source. */
  readonly link: readonly string[]
}

/** The functions that libraries of packed functions get from the process have this in their names. */
const needsProcess = /tvm/i

/**
 * Plans the command for a source with the same flags that packages of kernels are built with.
 *
 * @param headers the directory of Tenon's headers
 * @param architectures of the GPUs, for CUDA
 */
export function planCommand(
  request: CompileRequest,
  compiler: FoundCompiler,
  headers: string | undefined,
  architectures: readonly string[],
): InlineCommand {
  const { source, language, variant, name } = request
  const target: SharedTarget = {
    kind: 'shared',
    name: libraryName(name),
    sources: [`source${extensionOf[language]}`],
    imports: ['*'],
    includes: [...request.includes, ...(headers === undefined ? [] : [headers])],
    libraries: ['m', ...request.libraries],
    ...(needsProcess.test(source) ? { unresolved: ['TVM*'] } : {}),
    flags: [...diagnosticFlags[language], ...request.flags],
  }
  const toolchain = {
    compilers: new Map<Language, { command: string; args: readonly string[]; identity: string }>([
      [language, { command: compiler.file, args: compiler.args, identity: compiler.version }],
    ]),
    zig: false,
  }
  const pkg = { directory: '.', name: 'inline', version: '0.0.0', native: { targets: [target] } }
  const context = { pkg, variant, platform: hostPlatform, toolchain, architectures }
  const strip = variant === 'release' ? stripFlags(hostPlatform, false) : []
  const link = [...linkFlags(target, context, []), ...strip]
  return {
    fileName: sharedLibraryName(target.name),
    compile: compileFlags(target, language, context),
    link: language === 'cuda' ? nvccFlags(link) : link,
  }
}

// A tab is one column wide, so that the column is the position in the line.
const common = ['-Wno-error', '-fdiagnostics-color=never', '-ftabstop=1']

const diagnosticFlags: Readonly<Record<CompileRequest['language'], readonly string[]>> = {
  // Calls of functions that are not declared would only fail when the library is linked or loaded.
  c: [...common, '-Werror=implicit-function-declaration'],
  'c++': common,
  cuda: [],
}

/** Returns the base name of a path without extension, with only the characters that every system allows in names of libraries. */
function libraryName(name: string): string {
  const base = name.replace(/^.*[/\\]/, '').replace(/\.[^.]*$/, '')
  return base.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'inline'
}

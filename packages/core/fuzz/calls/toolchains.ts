import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { Abi } from '../../src/native/call/call-plan.ts'
import { abiOf } from '../../src/native/call/plan.ts'
import { coreFlags } from './core-sources.ts'
import { elfAssembly } from './elf-assembly.ts'

export type CompilerName = 'cc' | 'gcc' | 'clang'

/** How programs of one calling convention are built and run on this machine. */
export interface Toolchain {
  /** Compiles the source of functions to an object file. */
  readonly compile: (source: string, object: string) => Promise<void>
  /** Compiles a source of the core, or the assembly. */
  readonly compileCore: (source: string, object: string) => Promise<void>
  /** Links object files to a program. */
  readonly link: (inputs: readonly string[], program: string) => Promise<void>
  /** The command that runs a program. */
  readonly run: (program: string, args: readonly string[]) => Promise<void>
}

const execute = promisify(execFile)

/** The calling convention of this process, or undefined if there are no plans for it. */
export const hostAbi: Abi | undefined = abiOf(process.platform, process.arch)

/** The commands to compile and to link for another processor or system than this one. */
const crossCompilers = {
  'sysv-x64': { gcc: 'x86_64-linux-gnu-gcc', target: 'x86_64-linux-gnu', runner: ['qemu-x86_64-static'] },
  aapcs64: { gcc: 'aarch64-linux-gnu-gcc', target: 'aarch64-linux-gnu', runner: ['qemu-aarch64-static'] },
  // The code is Apple's, and runs as an ELF program.
  'apple-arm64': { gcc: 'aarch64-linux-gnu-gcc', target: 'arm64-apple-macos11', runner: ['qemu-aarch64-static'] },
  win64: { gcc: 'x86_64-w64-mingw32-gcc', target: 'x86_64-w64-mingw32', runner: ['wine'] },
} as const

/** The exception guard is C++. */
const libraries = ['-lpthread', '-lm', ...(process.platform === 'darwin' ? ['-lc++'] : ['-lstdc++', '-ldl'])]

const warnings = ['-w', '-D_GNU_SOURCE', '-fexceptions']

/** Each optimization moves arguments in its own way. */
const optimizations: Readonly<Record<CompilerName, string>> = { cc: '-O1', gcc: '-O2', clang: '-O1' }

export function toolchainOf(abi: Abi, compiler: CompilerName): Toolchain {
  const flags = [...warnings, optimizations[compiler]]
  if (abi === hostAbi) {
    const [own, ...given] = commandOf(compiler)
    return {
      compile: (source, object) => start(own, [...given, ...flags, '-fPIC', '-c', source, '-o', object]),
      compileCore: (source, object) => start(own, [...given, ...coreArguments(source, object)]),
      link: (inputs, program) => start(own, [...given, ...inputs, '-o', program, ...libraries]),
      run: (program, args) => start(program, args),
    }
  }
  const { gcc, target, runner } = crossCompilers[abi]
  const [command, ...run] = runner
  const linked = abi === 'win64' ? [] : libraries
  return {
    compile: async (source, object) => {
      if (abi === 'apple-arm64') await compileForApple(gcc, target, flags, source, object)
      else if (compiler === 'clang') await start('clang', [`--target=${target}`, ...flags, '-c', source, '-o', object])
      else await start(gcc, [...flags, '-c', source, '-o', object])
    },
    // Clang has no libraries of other systems.
    compileCore: (source, object) => start(gcc, coreArguments(source, object)),
    link: (inputs, program) => start(gcc, ['-static', ...inputs, '-o', program, ...linked]),
    run: (program, args) => start(command, [...run, program, ...args]),
  }
}

const coreArguments = (source: string, object: string): string[] => [
  '-O1',
  '-fPIC',
  ...warnings,
  ...coreFlags,
  '-c',
  source,
  '-o',
  object,
]

/** The command of a compiler. `CC` chooses the compiler of this machine. */
function commandOf(compiler: CompilerName): [command: string, ...args: string[]] {
  const chosen = compiler === 'cc' ? process.env['CC']?.trim() : undefined
  return (chosen || compiler).split(/\s+/) as [string, ...string[]]
}

/** Compiles a source for this process to a shared library. */
export async function buildLibrary(compiler: CompilerName, source: string, library: string): Promise<void> {
  const [command, ...given] = commandOf(compiler)
  await start(command, [...given, ...warnings, optimizations[compiler], '-fPIC', '-shared', source, '-o', library])
}

async function compileForApple(gcc: string, target: string, flags: string[], source: string, object: string) {
  const assembly = `${object}.s`
  const forGas = ['-ffreestanding', '-mllvm', '-aarch64-neon-syntax=generic']
  await start('clang', [`--target=${target}`, ...flags, ...forGas, '-S', source, '-o', assembly])
  await elfAssembly(assembly)
  await start(gcc, ['-c', assembly, '-o', object])
}

async function start(command: string, args: readonly string[]): Promise<void> {
  // Wine reports the windows that it cannot open. Compilers do not run with the sanitizer of this process.
  const environment = { ...process.env, WINEDEBUG: '-all', LD_PRELOAD: '' }
  await execute(command, args, { env: environment, timeout: 300_000, maxBuffer: 1 << 26 })
}

import type { Compiler } from './compiler.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

/** Thrown if CUDA sources cannot be compiled because nvcc is not installed. */
export class MissingNvccError extends ToolError {}

/** Finds nvcc: `NVCC` (split at spaces), or `nvcc` on `PATH`. @throws {MissingNvccError} */
export async function findNvcc(): Promise<Compiler> {
  const chosen = process.env['NVCC']?.trim()
  const [command = '', ...args] = (chosen || 'nvcc').split(/\s+/)
  try {
    const version = await runCommand(command, [...args, '--version'])
    if (version.code === 0) return { command, args, identity: `${command} ${args.join(' ')}\n${version.stdout}` }
    throw new ToolError(`${command} --version failed. NVCC must be nvcc:\n${version.stderr}`)
  } catch (error) {
    if (error instanceof ToolError) throw error
    const from = chosen ? `NVCC=${chosen}` : 'NVCC is not set, so nvcc was tried'
    throw new MissingNvccError(
      `nvcc is needed to compile .cu files, and "${command}" could not be run (${from}).\n` +
        'Install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), or set NVCC to its nvcc.\n' +
        'If the library may be left out on machines without nvcc, set "optional: true" on it.',
    )
  }
}

/** The oldest architecture for which code is compiled if there is no GPU and nvcc still knows it. */
const oldest = 'compute_70'

/**
 * Returns the architectures for which CUDA code is compiled by default: those of the GPUs of this machine, or else the oldest
 * virtual architecture of nvcc, whose PTX newer GPUs compile when the library is loaded.
 */
export async function defaultArchitectures(nvcc: Compiler): Promise<string[]> {
  const present = await presentGpus()
  if (present.length > 0) return present
  const { stdout } = await runCommand(nvcc.command, [...nvcc.args, '--list-gpu-arch'])
  const known: readonly string[] = stdout.match(/compute_\d+/g) ?? []
  return [known.includes(oldest) || known.length === 0 ? oldest : known[0]!]
}

async function presentGpus(): Promise<string[]> {
  try {
    const { code, stdout } = await runCommand('nvidia-smi', ['--query-gpu=compute_cap', '--format=csv,noheader'])
    return code === 0 ? architecturesOf(stdout) : []
  } catch {
    return []
  }
}

/** Returns the architectures of GPUs whose compute capabilities nvidia-smi has printed. */
export function architecturesOf(output: string): string[] {
  const capabilities: readonly string[] = output.match(/^\d+\.\d+$/gm) ?? []
  return [...new Set(capabilities)].map((capability) => `sm_${capability.replace('.', '')}`)
}

/** Returns the flags of nvcc for architectures such as `sm_90` (machine code) and `compute_90` (PTX). @throws {ToolError} for others */
export function architectureFlags(architectures: readonly string[]): string[] {
  return architectures.map((name) => {
    const number = /^(?:sm|compute)_(\d+[af]?)$/.exec(name)?.[1]
    if (number !== undefined) return `-gencode=arch=compute_${number},code=${name}`
    throw new ToolError(`an architecture of CUDA must be like sm_90 or compute_90, got ${name}`)
  })
}

/**
 * Translates the flags of gcc into those of nvcc, which splits what it passes on at commas, and runs it by a shell. It understands
 * macros, directories and libraries itself.
 */
export function nvccFlags(flags: readonly string[]): string[] {
  const escaped = (flag: string): string => flag.replaceAll(',', String.raw`\,`).replaceAll('$', () => String.raw`\\$`)
  return flags.map((flag) =>
    /^-[DILl]|^-O\d$|^-g$|^-shared$|^-std=|^[^-]/.test(flag) ? flag : `-Xcompiler=${escaped(flag)}`,
  )
}

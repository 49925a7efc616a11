import { hostPlatform } from './platform.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

/** The names of the run time of AddressSanitizer: that of gcc, and those of clang. */
function runtimeNames(): string[] {
  const machine = hostPlatform.cpu === 'arm64' ? 'aarch64' : 'x86_64'
  return ['libasan.so', 'libclang_rt.asan.so', `libclang_rt.asan-${machine}.so`]
}

/**
 * The variables with which Node.js can load libraries of the variant `asan`: their sanitizer is preloaded, with the C++ runtime whose
 * exceptions it observes, and tensors have pages of their own. Options in `ASAN_OPTIONS` have priority.
 *
 * @throws {ToolError} on other systems than Linux, and for a compiler without the sanitizer
 */
export async function sanitizerEnvironment(
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Record<string, string>> {
  if (hostPlatform.os !== 'linux')
    throw new ToolError(
      `the variant asan needs Linux, because the sanitizer is preloaded into Node.js, got ${hostPlatform.name}`,
    )
  const [compiler = 'cc', ...args] = (environment['CC']?.trim() || 'cc').split(/\s+/)
  const runtime = await findFirst(compiler, args, runtimeNames())
  if (runtime === undefined)
    throw new ToolError(
      `${compiler} has no shared run time of AddressSanitizer.\nInstall gcc and its libasan, or set CC to gcc.`,
    )
  const cxx = await findFirst(compiler, args, ['libstdc++.so.6', 'libstdc++.so'])
  // Node.js does not free its global state, and an allocation that is too large must fail as without the sanitizer.
  const options = ['detect_leaks=0', 'allocator_may_return_null=1', environment['ASAN_OPTIONS']]
    .filter(Boolean)
    .join(':')
  const preload = [runtime, cxx, environment['LD_PRELOAD']].filter(Boolean).join(':')
  // The sanitizer does not know where the tensors in a slab of memory end. In guard mode, each has pages of its own.
  const debug = [environment['TENON_DEBUG'], 'guard'].filter(Boolean).join(',')
  return { LD_PRELOAD: preload, ASAN_OPTIONS: options, TENON_DEBUG: debug }
}

/** A compiler prints the name as it is if it does not have the file. */
async function findFirst(
  compiler: string,
  args: readonly string[],
  names: readonly string[],
): Promise<string | undefined> {
  for (const name of names) {
    const { stdout } = await runCommand(compiler, [...args, `-print-file-name=${name}`])
    if (stdout.startsWith('/')) return stdout.trim()
  }
  return undefined
}

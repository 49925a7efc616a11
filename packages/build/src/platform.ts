import { hostPlatformName } from '@tenon/binary'

import type { NativeTarget, Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'

/** The name of a platform: system, processor and, on Linux, C library. */
export type PlatformName =
  | 'linux-x64-gnu'
  | 'linux-arm64-gnu'
  | 'linux-x64-musl'
  | 'linux-arm64-musl'
  | 'darwin-x64'
  | 'darwin-arm64'
  | 'win32-x64'
  | 'win32-arm64'

/** A platform for which native code is compiled. The words are those of Node.js. */
export interface Platform {
  readonly name: PlatformName
  readonly os: 'linux' | 'darwin' | 'win32'
  readonly cpu: 'x64' | 'arm64'
  /** The C library, on Linux. */
  readonly libc?: 'gnu' | 'musl'
  /** The name of the platform for `zig cc -target`, without the floor. */
  readonly machine: string
  /** The oldest version of glibc or macOS on which a cross build runs. */
  readonly floor?: string
}

/** The platforms for which native code can be compiled. */
export const platforms: readonly Platform[] = [
  { name: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'gnu', machine: 'x86_64-linux-gnu', floor: '2.28' },
  { name: 'linux-arm64-gnu', os: 'linux', cpu: 'arm64', libc: 'gnu', machine: 'aarch64-linux-gnu', floor: '2.28' },
  { name: 'linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl', machine: 'x86_64-linux-musl' },
  { name: 'linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl', machine: 'aarch64-linux-musl' },
  { name: 'darwin-x64', os: 'darwin', cpu: 'x64', machine: 'x86_64-macos', floor: '11.0' },
  { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64', machine: 'aarch64-macos', floor: '11.0' },
  { name: 'win32-x64', os: 'win32', cpu: 'x64', machine: 'x86_64-windows-gnu' },
  { name: 'win32-arm64', os: 'win32', cpu: 'arm64', machine: 'aarch64-windows-gnu' },
]

/** Finds a platform by its name. @throws {ToolError} that lists the names of all platforms. */
export function findPlatform(name: string): Platform {
  const found = platforms.find((platform) => platform.name === name)
  if (found) return found
  throw new ToolError(`the platform must be one of ${platforms.map((one) => one.name).join(', ')}, got ${name}`)
}

/** The platform of this process. On a system or processor outside of {@link platforms}, its words are those of the process. */
export const hostPlatform: Platform = findHost()

function findHost(): Platform {
  const name = hostPlatformName()
  const [os, cpu, libc] = name.split('-')
  return (
    platforms.find((one) => one.name === name) ?? ({ name, os, cpu, ...(libc && { libc }), machine: name } as Platform)
  )
}

/** Returns the file name of a shared library on a platform, by default this one. */
export function sharedLibraryName(name: string, { os }: Platform = hostPlatform): string {
  if (os === 'win32') return `${name}.dll`
  return os === 'darwin' ? `lib${name}.dylib` : `lib${name}.so`
}

/** Returns the file name of what is built from a target on a platform, by default this one. */
export function artifactName(target: NativeTarget, platform: Platform = hostPlatform): string {
  if (target.kind === 'shared') return sharedLibraryName(target.name, platform)
  if (target.kind === 'addon') return target.fileName ?? `${target.name}.node`
  return platform.os === 'win32' ? `${target.name}.exe` : target.name
}

/**
 * Returns the directory of the artifacts of a variant, relative to the package.
 *
 * @param portable whether the build is for more than this machine. Always true for other platforms.
 */
export function buildDirectory(
  variant: Variant,
  platform: Platform,
  portable: boolean = platform !== hostPlatform,
): string {
  return portable ? `build/${platform.name}/${variant}` : `build/${variant}`
}

/**
 * Replaces `{posix|win32}` and `{sysv_x64|aapcs64|win64}` in a path by the word for the system and the processor of a platform.
 *
 * @throws {ToolError} if no word is for them.
 */
export function choosePlatform(pattern: string, platform: Platform): string {
  const fitting = [platform.os === 'win32' ? 'win32' : 'posix', callingConvention(platform)]
  return pattern.replace(/\{([\w-]+(?:\|[\w-]+)+)\}/g, (_, list: string) => {
    const chosen = list.split('|').find((word) => fitting.includes(word))
    if (chosen) return chosen
    throw new ToolError(`one word of {${list}} in ${pattern} must be for ${platform.name}: ${fitting.join(' or ')}`)
  })
}

/** The name of the ABI of calls, by processor and system. */
function callingConvention({ os, cpu }: Platform): string {
  if (cpu === 'arm64') return 'aapcs64'
  if (cpu === 'x64') return os === 'win32' ? 'win64' : 'sysv_x64'
  return cpu
}

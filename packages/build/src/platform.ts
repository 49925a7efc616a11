import { ToolError } from './tool-error.ts'
import type { NativeTarget, Variant } from './targets.ts'

/** The name of this platform, such as `linux-x64` or `darwin-arm64`. */
export const platformName: string = `${process.platform}-${process.arch}`

/** Returns the file name of a shared library on a platform, by default this one. */
export function sharedLibraryName(name: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return `${name}.dll`
  return platform === 'darwin' ? `lib${name}.dylib` : `lib${name}.so`
}

/** Returns the file name of what is built from a target. */
export function artifactName(target: NativeTarget, platform: NodeJS.Platform = process.platform): string {
  if (target.kind === 'shared') return sharedLibraryName(target.name, platform)
  if (target.kind === 'addon') return target.fileName ?? `${target.name}.node`
  return platform === 'win32' ? `${target.name}.exe` : target.name
}

/** Returns the directory of the artifacts of a variant, relative to the package. */
export function variantDirectory(variant: Variant): string {
  return `build/${variant}`
}

/**
 * Replaces `{posix|win32}` and `{sysv_x64|aapcs64|win64}` in a path by the word for a system and for the machine of a compiler.
 *
 * @throws {ToolError} if no word is for them.
 */
export function choosePlatform(pattern: string, machine: string, platform: NodeJS.Platform = process.platform): string {
  const fitting = [platform === 'win32' ? 'win32' : 'posix', callingConvention(machine, platform)]
  return pattern.replace(/\{([\w-]+(?:\|[\w-]+)+)\}/g, (_, list: string) => {
    const chosen = list.split('|').find((word) => fitting.includes(word))
    if (chosen) return chosen
    throw new ToolError(`one word of {${list}} in ${pattern} must be for ${machine}: ${fitting.join(' or ')}`)
  })
}

/** The name of the ABI of calls, by processor and system. */
function callingConvention(machine: string, platform: NodeJS.Platform): string {
  const processor = machine.split('-', 1)[0]!
  if (/^(aarch64|arm64)/.test(processor)) return 'aapcs64'
  if (processor === 'x86_64' || processor === 'amd64') return platform === 'win32' ? 'win64' : 'sysv_x64'
  return processor
}

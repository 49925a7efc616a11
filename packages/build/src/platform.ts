import type { Variant } from './targets.ts'

const windows = process.platform === 'win32'

/** The name of this platform, such as `linux-x64` or `darwin-arm64`. */
export const platformName: string = `${process.platform}-${process.arch}`

/** Returns the file name of a shared library on this platform. */
export function sharedLibraryName(name: string): string {
  if (windows) return `${name}.dll`
  return process.platform === 'darwin' ? `lib${name}.dylib` : `lib${name}.so`
}

export function programName(name: string): string {
  return windows ? `${name}.exe` : name
}

/** Returns the directory of the artifacts of a variant, relative to the package. */
export function variantDirectory(variant: Variant): string {
  return `build/${variant}`
}

/** Resolves `{posix|win32}` in a path: the second word on Windows, the first elsewhere. */
export function choosePlatform(pattern: string, platform: NodeJS.Platform = process.platform): string {
  return pattern.replace(/\{([\w-]+)\|([\w-]+)\}/g, (_, first: string, second: string) =>
    platform === 'win32' ? second : first,
  )
}

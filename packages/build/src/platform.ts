import type { Variant } from './targets.ts'

const windows = process.platform === 'win32'

/** What the platform packages are called after: `linux-x64`, `darwin-arm64`. */
export const platformName: string = `${process.platform}-${process.arch}`

/** The file name of a shared library, for the platform that runs. */
export function sharedLibraryName(name: string): string {
  if (windows) return `${name}.dll`
  return process.platform === 'darwin' ? `lib${name}.dylib` : `lib${name}.so`
}

/** The file name of a program, for the platform that runs. */
export function programName(name: string): string {
  return windows ? `${name}.exe` : name
}

/** The directory that a variant's artifacts are built in, relative to the package. */
export function variantDirectory(variant: Variant): string {
  return `build/${variant}`
}

/** Resolves `{posix|win32}` in a path: the second word on Windows, the first elsewhere. */
export function choosePlatform(pattern: string, platform: NodeJS.Platform = process.platform): string {
  return pattern.replace(/\{([\w-]+)\|([\w-]+)\}/g, (_, first: string, second: string) =>
    platform === 'win32' ? second : first,
  )
}

import { fileURLToPath } from 'node:url'

/** Returns the path of a library of the example, in the variant that `TENON_VARIANT` selects. */
export function nativeLibrary(name: 'score' | 'text'): string {
  const variant = process.env['TENON_VARIANT'] || 'release'
  const extension = process.platform === 'darwin' ? 'dylib' : 'so'
  return fileURLToPath(new URL(`../build/${variant}/lib${name}.${extension}`, import.meta.url))
}

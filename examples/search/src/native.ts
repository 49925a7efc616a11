import { fileURLToPath } from 'node:url'

/** The path of one of the example's two libraries, in the variant that `TENON_VARIANT` names. */
export function nativeLibrary(name: 'score' | 'text'): string {
  const variant = process.env['TENON_VARIANT'] || 'release'
  const extension = process.platform === 'darwin' ? 'dylib' : 'so'
  return fileURLToPath(new URL(`../build/${variant}/lib${name}.${extension}`, import.meta.url))
}

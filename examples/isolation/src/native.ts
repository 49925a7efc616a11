import { fileURLToPath } from 'node:url'

/** Returns the path of the library of the example, in the variant that `TENON_VARIANT` selects. */
export function nativeLibrary(): string {
  const variant = process.env['TENON_VARIANT'] || 'release'
  return fileURLToPath(new URL(`../build/${variant}/libembedding.so`, import.meta.url))
}

import { fileURLToPath } from 'node:url'

/**
 * Returns the path of a kernel library such as `kernels`, `kernels_cpp` or `kernels_runtime`, in the variant that
 * `TENON_KERNELS_VARIANT` or else `TENON_VARIANT` selects (`release` by default).
 *
 * @example
 * const library = NativeLibrary.open(kernelLibrary('kernels'))
 */
export function kernelLibrary(name: string): string {
  const variant = process.env['TENON_KERNELS_VARIANT'] || process.env['TENON_VARIANT'] || 'release'
  return fileURLToPath(new URL(`../build/${variant}/${fileName(name)}`, import.meta.url))
}

function fileName(name: string): string {
  if (process.platform === 'win32') return `${name}.dll`
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}

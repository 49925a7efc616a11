import { fileURLToPath } from 'node:url'

/**
 * The path of one of the kernel libraries, in the variant that `TENON_VARIANT` names (`release` without it): `kernels`,
 * `kernels_cpp`, `kernels_runtime`.
 *
 * @example
 * const library = NativeLibrary.open(kernelLibrary('kernels'))
 */
export function kernelLibrary(name: string): string {
  const variant = process.env['TENON_VARIANT'] || 'release'
  return fileURLToPath(new URL(`../build/${variant}/${fileName(name)}`, import.meta.url))
}

function fileName(name: string): string {
  if (process.platform === 'win32') return `${name}.dll`
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}

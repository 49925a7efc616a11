import type { BinaryFormat } from './binary-info.ts'

/** The format of the libraries that this system loads. */
export const nativeFormat: BinaryFormat =
  process.platform === 'darwin' ? 'mach-o' : process.platform === 'win32' ? 'pe' : 'elf'

/** The C library, as the system's loader finds it. */
export const LIBC: string =
  process.platform === 'win32' ? 'msvcrt.dll' : process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

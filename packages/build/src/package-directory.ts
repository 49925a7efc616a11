import { join } from 'node:path'

/** The directory of this package, which is one folder above `src` and `dist`. */
export const packageDirectory: string = join(import.meta.dirname, '..')

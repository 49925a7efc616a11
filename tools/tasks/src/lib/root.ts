import { join } from 'node:path'

/** The root directory of the repository. */
export const root: string = join(import.meta.dirname, '../../../..')

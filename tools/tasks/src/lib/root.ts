import { join } from 'node:path'

/** The repository's top directory. */
export const root: string = join(import.meta.dirname, '../../../..')

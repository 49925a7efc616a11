import { join } from 'node:path'

export const root: string = join(import.meta.dirname, '../../../..')

import type { Suite } from '@tenon/bench'
import { measuredContestants } from './measured.ts'
import { startRow } from './start-row.ts'

export const suite = { package: 'prove', rows: [startRow(measuredContestants)] } satisfies Suite

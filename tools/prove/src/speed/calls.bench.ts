/** The speed of the contestants that the running runtime has. `prove.ts` measures this file with the harness of `pnpm bench`. */
import type { Suite } from '@tenon/bench'
import { setup } from '../arena.ts'
import { measuredContestants } from './measured.ts'
import { type Opened, rowOf } from './rows.ts'
import { works } from './works.ts'

const opened: Opened[] = []
for (const contestant of measuredContestants) {
  try {
    opened.push({ contestant, offered: await contestant.open(setup) })
  } catch (error) {
    process.stderr.write(`  not measured: ${contestant.name}: ${(error as Error).message}\n`)
  }
}

export const suite = { package: 'prove', rows: works.flatMap((work) => rowOf(work, opened)) } satisfies Suite

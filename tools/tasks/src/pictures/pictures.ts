import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { drawPlots, noteOf, type Origin, type RowResult } from '@tenon/bench'

import { root } from '../lib/root.ts'
import { call } from './call.ts'
import { type Diagram, drawDiagram } from './diagram.ts'
import { isolation } from './isolation.ts'
import { memory } from './memory.ts'
import { overview } from './overview.ts'
import { sharing } from './sharing.ts'

/** A picture of README.md or of a guide in one theme. */
interface Picture {
  /** The path of the file, relative to the root of the repository. */
  readonly path: string
  readonly svg: string
}

const REPORT = 'docs/reports/bench.json'

/** The diagrams of README.md and of the guides. */
const DIAGRAMS: readonly Diagram[] = [overview, memory, isolation, call, sharing]

/** Draws the diagrams, and the plot of the latest benchmarks, for light and for dark pages. */
export function drawPictures(): Picture[] {
  const { results, ...origin } = JSON.parse(readFileSync(join(root, REPORT), 'utf8')) as Origin & {
    readonly results: readonly RowResult[]
  }
  return (['light', 'dark'] as const).flatMap((theme) => {
    const plot = drawPlots(results, noteOf(origin, results), theme).find(({ name }) => name === 'latency')
    if (plot === undefined) throw new Error(`${REPORT} must have the rows of the plot "latency"`)
    return [
      ...DIAGRAMS.map((diagram) => ({
        path: `docs/pictures/${diagram.name}-${theme}.svg`,
        svg: drawDiagram(diagram, theme),
      })),
      { path: `docs/pictures/latency-${theme}.svg`, svg: plot.svg },
    ]
  })
}

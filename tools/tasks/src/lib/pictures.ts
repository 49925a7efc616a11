import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { drawPlots, noteOf, type Origin, type RowResult } from '@tenon/bench'

import { drawOverview } from './overview-picture.ts'
import { root } from './root.ts'

/** A picture of README.md in one theme. */
interface Picture {
  /** The path of the file, relative to the root of the repository. */
  readonly path: string
  readonly svg: string
}

const REPORT = 'docs/reports/bench.json'

/** Draws what runs where, and the plot of the latest benchmarks, for light and for dark pages. */
export function drawPictures(): Picture[] {
  const { results, ...origin } = JSON.parse(readFileSync(join(root, REPORT), 'utf8')) as Origin & {
    readonly results: readonly RowResult[]
  }
  return (['light', 'dark'] as const).flatMap((theme) => {
    const plot = drawPlots(results, noteOf(origin, results), theme).find(({ name }) => name === 'latency')
    if (plot === undefined) throw new Error(`${REPORT} must have the rows of the plot "latency"`)
    return [
      { path: `docs/pictures/overview-${theme}.svg`, svg: drawOverview(theme) },
      { path: `docs/pictures/latency-${theme}.svg`, svg: plot.svg },
    ]
  })
}

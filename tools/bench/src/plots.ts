/** The plots of `pnpm bench --report`, whose points are rows of the benchmarks. */
import { type Axes, type Point, lines, type Series } from '../../../packages/tenon/src/benchmark/draw.ts'
import type { Quartiles, RowResult } from './result.ts'
import type { PlotName } from './suite.ts'
import type { Theme } from '../../../packages/tenon/src/benchmark/svg.ts'
import { shortTime, sizeText } from './units.ts'

/** A plot of the report: its title and axes, without the series. */
interface PlotKind extends Omit<Axes, 'series' | 'note' | 'theme'> {
  readonly title: string
  /** Returns what is drawn for an iteration that takes so many nanoseconds and has so many calls. */
  readonly value: (nanoseconds: number, calls: number) => number
}

const timeOfCall = (nanoseconds: number, calls: number): number => nanoseconds / calls
const callsPerSecond = (nanoseconds: number, calls: number): number => (1e9 * calls) / nanoseconds

const KINDS: Readonly<Record<PlotName, PlotKind>> = {
  latency: {
    title: 'The time of a call against the size of its operand',
    x: 'size of the operand, which the kernel reads',
    y: 'time of one call',
    xText: sizeText,
    yText: shortTime,
    value: timeOfCall,
  },
  arguments: {
    title: 'The time of a call against the number of its arguments',
    x: 'arguments, integers of 64 bits',
    y: 'time of one call',
    yText: shortTime,
    value: timeOfCall,
  },
  threads: {
    title: 'Asynchronous calls on 1 to 16 threads',
    x: 'calls at the same time, each on a thread',
    y: 'calls a second',
    value: callsPerSecond,
  },
  workers: {
    title: 'An isolated library with 1 to 4 workers',
    x: 'workers',
    y: 'calls a second',
    value: callsPerSecond,
  },
}

/** A plot as it is written. */
export interface Plot {
  readonly name: PlotName
  readonly title: string
  readonly svg: string
}

/**
 * Draws each plot that has rows among the results. Its points are medians, with the quartiles of the rounds.
 *
 * @param note where and when the results were measured.
 */
export function drawPlots(results: readonly RowResult[], note: string, theme: Theme = 'reader'): Plot[] {
  return (Object.keys(KINDS) as PlotName[]).flatMap((name) => {
    const rows = results.filter(({ plot }) => plot?.name === name)
    if (rows.length === 0) return []
    const { title, value, ...axes } = KINDS[name]
    return [{ name, title, svg: lines(title, { ...axes, note, theme, series: seriesOf(rows, value) }) }]
  })
}

/** Returns a series for each contestant on each version of Node.js. */
function seriesOf(rows: readonly RowResult[], value: PlotKind['value']): Series[] {
  const nodes = new Set(rows.map(({ node }) => node))
  const points = new Map<string, Point[]>()
  for (const { node, plot, unit, ours, peers, quartiles } of rows) {
    const { x, calls = 1, ours: own = 'Tenon' } = plot!
    if (unit !== 'ns') throw new Error(`a row of a plot must have the unit ns, got ${unit}`)
    const add = (name: string, median: number, spread: Quartiles): void => {
      const series = nodes.size > 1 ? `${name}, Node.js ${node}` : name
      const [low, high] = spread.map((nanoseconds) => value(nanoseconds, calls)).toSorted((a, b) => a - b)
      points.set(series, [...(points.get(series) ?? []), [x, value(median, calls), low!, high!]])
    }
    // The first peer is grey and Tenon is blue, as in the plots of `pnpm bench:serve`.
    for (const [i, [peer, median]] of Object.entries(peers).entries()) {
      add(peer, median, quartiles.peers[peer]!)
      if (i === 0) add(own, ours, quartiles.ours)
    }
  }
  return [...points].map(([name, own]) => ({ name, points: own.toSorted((a, b) => a[0] - b[0]) }))
}

import { lines, type Point } from './draw.ts'
import { formatNs } from '../cli/timing.ts'
import type { BenchResult } from './bench-result.ts'
import type { Sizes } from './size-range.ts'

/** The name of the only axis with several sizes; undefined if there is none or more than one. */
export function variedAxis(points: readonly Sizes[]): string | undefined {
  const names = Object.keys(points[0] ?? {}).filter((name) => new Set(points.map((sizes) => sizes[name])).size > 1)
  return names.length === 1 ? names[0] : undefined
}

/** Draws the medians of the contestants against the sizes of an axis, with the 10 % of the slowest runs left out of the thin lines. */
export function drawBench({ kernel, machine, date, points }: BenchResult, axis: string): string {
  const names = points[0]!.contestants.map(({ name }) => name)
  const series = names.map((name, i) => ({
    name,
    points: points.map(({ sizes, contestants }): Point => {
      const { p50Ns, p90Ns, medianNs } = contestants[i]!
      return [sizes[axis]!, p50Ns, Math.min(p50Ns, medianNs[0]), p90Ns]
    }),
  }))
  return lines(`The time of ${kernel} against ${axis}`, {
    x: axis,
    y: 'time of one call: median, and up to the 90th percentile',
    yText: formatNs,
    series,
    note: `${machine['cpu']}, ${machine['runtime']}, ${date.slice(0, 10)}`,
  })
}

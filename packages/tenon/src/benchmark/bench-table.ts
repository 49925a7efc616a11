import { alignColumns, type Style } from '../cli/terminal.ts'
import { formatNs } from '../cli/timing.ts'
import { findBaseline, type BenchPoint, type BenchResult } from './bench-result.ts'
import type { Distribution } from './measure.ts'

/** Medians that differ by less are not called slower or faster, because processes differ by as much. */
const NOISE = 1.03

/** Formats a result as a table, with a row for each combination of sizes and each contestant. */
export function formatBench(result: BenchResult, baseline: BenchResult | undefined, style: Style): string {
  const { kernel, signature, machine, points } = result
  const names = Object.keys(points[0]!.sizes)
  const hasRatio = points.some(({ contestants }) => contestants.length > 1)
  const header = [
    ...names,
    'contestant',
    'p50',
    'p90',
    'p99',
    'calls/s',
    'GB/s',
    ...(hasRatio ? ['ratio'] : []),
    ...(baseline === undefined ? [] : ['before', 'change']),
  ]
  const rows = points.flatMap((point) =>
    point.contestants.map((own, i) => [
      ...names.map((name) => (i === 0 ? String(point.sizes[name]) : '')),
      own.name,
      ...[own.p50Ns, own.p90Ns, own.p99Ns].map(formatNs),
      Math.round(1e9 / own.meanNs).toLocaleString('en'),
      (point.byteSize / own.meanNs).toPrecision(3),
      ...(hasRatio ? [i === 0 ? '' : `x${(own.p50Ns / point.contestants[0]!.p50Ns).toFixed(2)}`] : []),
      ...(baseline === undefined ? [] : comparison(baseline, point, own)),
    ]),
  )
  const [head, ...lines] = alignColumns([header, ...rows])
  return [
    `${style.strong(kernel)} ${signature}`,
    style.faint(`${machine['cpu']}, ${machine['cores']} cores, ${machine['platform']}, ${machine['runtime']}`),
    '',
    style.strong(head!),
    ...lines,
  ].join('\n')
}

/** The median of the baseline, and what has changed beyond the spread of both. */
function comparison(baseline: BenchResult, point: BenchPoint, own: Distribution): [before: string, change: string] {
  const before = findBaseline(baseline, point, own.name)
  if (before === undefined) return ['-', '-']
  const ratio = own.p50Ns / before.p50Ns
  const isSlower = own.medianNs[0] > before.medianNs[1] && ratio > NOISE
  const isFaster = own.medianNs[1] < before.medianNs[0] && ratio < 1 / NOISE
  const verdict = isSlower ? ' slower' : isFaster ? ' faster' : ''
  return [formatNs(before.p50Ns), `x${ratio.toFixed(2)}${verdict}`]
}

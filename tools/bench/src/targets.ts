import type { RowResult } from './result.ts'
import type { Unit } from './suite.ts'
import { formatRatio } from './table.ts'

/** The tolerated excess over a target, because the medians of two runs on a busy machine differ by as much. */
export const MARGIN = 1.05

export interface Miss {
  readonly package: string
  readonly name: string
  readonly node: string
  readonly peer: string
  readonly ratio: number
  readonly target: number
  readonly unit: Unit
}

/**
 * Returns the targets that a row misses. A target is missed if three quarters of the rounds miss it by more than
 * {@link MARGIN}, so noise widens the margin. `runBench` repeats the measurement before a miss counts.
 */
export function missesOf(result: RowResult): Miss[] {
  const { package: packageName, name, node, unit } = result
  return Object.entries(result.target ?? {}).flatMap(([peer, target]) => {
    const [low, high] = result.quartiles.ratios[peer]!
    const isMissed = unit === 'GB/s' ? high < target / MARGIN : low > target * MARGIN
    return isMissed ? [{ package: packageName, name, node, peer, ratio: result.ratios[peer]!, target, unit }] : []
  })
}

export function describeMiss(miss: Miss): string {
  const wanted = `${miss.unit === 'GB/s' ? 'at least' : 'at most'} ${Number(miss.target.toPrecision(3))}`
  return `${miss.package}: ${miss.name} on Node ${miss.node} is ${formatRatio(miss.ratio)} of ${miss.peer}, wanted ${wanted}`
}

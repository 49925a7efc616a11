import type { RowResult } from './result.ts'
import { formatRatio } from './table.ts'

/** What a target may be missed by before it counts: the medians of two runs on a busy machine differ by as much. */
export const MARGIN = 1.05

/** A peer against which a row didn't reach its target. */
export interface Miss {
  readonly package: string
  readonly name: string
  readonly node: string
  readonly peer: string
  readonly ratio: number
  readonly target: number
  readonly unit: 'ns' | 'GB/s'
}

/**
 * The targets that a row misses. A target is missed when three quarters of the rounds miss it by more than {@link MARGIN}:
 * the better quartile of the ratios is what is compared, so that the noise of the run itself widens the margin. (A
 * miss counts only when it is seen again in new measurements of that row: see `runBench`.)
 */
export function missesOf(result: RowResult): Miss[] {
  const { package: packageName, name, node, unit } = result
  return Object.entries(result.target ?? {}).flatMap(([peer, target]) => {
    const [low, high] = result.quartiles.ratios[peer]!
    const isMissed = unit === 'ns' ? low > target * MARGIN : high < target / MARGIN
    return isMissed ? [{ package: packageName, name, node, peer, ratio: result.ratios[peer]!, target, unit }] : []
  })
}

/** A miss in words. */
export function describeMiss(miss: Miss): string {
  const wanted = `${miss.unit === 'ns' ? 'at most' : 'at least'} ${Number(miss.target.toPrecision(3))}`
  return `${miss.package}: ${miss.name} on Node ${miss.node} is ${formatRatio(miss.ratio)} of ${miss.peer}, wanted ${wanted}`
}

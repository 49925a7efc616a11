import { quantile } from '../../../packages/tenon/src/benchmark/quantile.ts'

export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** Interpolates between neighbours. @throws {RangeError} without samples. */
export function spreadOf(samples: readonly number[]): Spread {
  if (samples.length === 0) throw new RangeError('a spread needs at least one sample')
  const sorted = samples.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }
}

/**
 * Computes the spread of the ratios of two contestants that ran in the same rounds. An influence on a whole round (another
 * process, a lower clock) cancels out, unlike in the ratio of two medians.
 */
export function ratioOf(ours: readonly number[], peer: readonly number[]): Spread {
  return spreadOf(ours.map((sample, round) => sample / peer[round]!))
}

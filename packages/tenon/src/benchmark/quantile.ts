/**
 * Returns the value below which a fraction of samples lies, between neighbours in proportion.
 *
 * @param sorted at least one sample, in ascending order.
 */
export function quantile(sorted: readonly number[], fraction: number): number {
  const position = (sorted.length - 1) * fraction
  const below = Math.floor(position)
  const start = sorted[below]!
  const end = sorted[below + 1] ?? start
  return start + (end - start) * (position - below)
}

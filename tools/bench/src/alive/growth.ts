export interface Point {
  /** The number of objects. */
  readonly count: number
  /** The time or the memory of all of them. */
  readonly total: number
}

/** The largest exponent with which the time and the memory of a row may grow. */
export const MOST_GROWTH = 1.1

/**
 * Fits `total = c * count ** exponent` by least squares over the logarithms, and returns the exponent: 1 if each object costs
 * the same however many are alive. Returns undefined for fewer than two different counts.
 *
 * @throws {RangeError} for a count or a total that is not positive.
 */
export function growthOf(points: readonly Point[]): number | undefined {
  const logarithms = points.map(({ count, total }) => {
    if (!(count > 0 && total > 0)) throw new RangeError(`a point must be positive, got ${total} for ${count} objects`)
    return { x: Math.log(count), y: Math.log(total) }
  })
  if (new Set(points.map(({ count }) => count)).size < 2) return undefined
  const meanX = mean(logarithms.map(({ x }) => x))
  const meanY = mean(logarithms.map(({ y }) => y))
  let covariance = 0
  let variance = 0
  for (const { x, y } of logarithms) {
    covariance += (x - meanX) * (y - meanY)
    variance += (x - meanX) ** 2
  }
  return covariance / variance
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

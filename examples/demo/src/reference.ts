/** The same computations as the kernels, in double precision and independent of them. */

/** y = x / sqrt(mean(x * x) + eps) along rows of `width`. */
export function rmsNorm(
  x: ArrayLike<number>,
  width: number,
  eps: number,
  y: Float64Array = new Float64Array(x.length),
): Float64Array {
  for (let row = 0; row < x.length; row += width) {
    let sum = 0
    for (let i = row; i < row + width; i += 1) sum += x[i]! * x[i]!
    const scale = 1 / Math.sqrt(sum / width + eps)
    for (let i = row; i < row + width; i += 1) y[i] = x[i]! * scale
  }
  return y
}

/** a[i] = b[i % b.length] + c[i] */
export function broadcastAdd(
  b: ArrayLike<number>,
  c: ArrayLike<number>,
  a: Float64Array = new Float64Array(c.length),
): Float64Array {
  for (let i = 0; i < c.length; i += 1) a[i] = b[i % b.length]! + c[i]!
  return a
}

/** Returns the largest difference between two arrays. @throws {Error} if it exceeds `limit`, or the lengths differ */
export function checkClose(actual: ArrayLike<number>, expected: ArrayLike<number>, limit: number): number {
  let largest = actual.length === expected.length ? 0 : Number.NaN
  for (let i = 0; i < actual.length; i += 1) largest = Math.max(largest, Math.abs(actual[i]! - expected[i]!))
  if (!(largest <= limit)) throw new Error(`the results differ by ${largest}, more than ${limit}`)
  return largest
}

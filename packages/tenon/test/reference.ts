/** Independent computations in double precision, for comparison with kernels. */

/** y = x / sqrt(mean(x * x) + eps) along rows of `width`. */
export function rmsNormReference(x: ArrayLike<number>, width: number, eps: number): Float64Array {
  const y = new Float64Array(x.length)
  for (let row = 0; row < x.length; row += width) {
    let sum = 0
    for (let i = 0; i < width; i += 1) sum += x[row + i]! ** 2
    const scale = 1 / Math.sqrt(sum / width + eps)
    for (let i = 0; i < width; i += 1) y[row + i] = x[row + i]! * scale
  }
  return y
}

/** The largest difference between two arrays of the same length. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) throw new Error(`lengths ${a.length} and ${b.length}`)
  let largest = 0
  for (let i = 0; i < a.length; i += 1) {
    const difference = Math.abs(a[i]! - b[i]!)
    // NaN must not pass for a small difference.
    if (!(difference <= largest)) largest = difference
  }
  return largest
}

/** Pseudorandom numbers from -4 to 4, the same on every run. */
export function noise(length: number): Float32Array {
  let state = 12345
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state / 2 ** 32) * 8 - 4
  })
}

/** Multiplies matrices with BLAS, and compares with a product in TypeScript. */
import assert from 'node:assert/strict'
import { MemorySegment } from 'tenon/scope'
import * as blas from './cblas/index.js'

const [a, b, c] = [Float32Array.of(1, 2, 3, 4, 5, 6), Float32Array.of(7, 8, 9, 10, 11, 12), new Float32Array(4)]
blas.cblas_sgemm(blas.CblasRowMajor, blas.CblasNoTrans, blas.CblasNoTrans, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2)
assert.deepEqual([...c], [58, 64, 139, 154])

const n = 37
const numbers = (seed: number): Float64Array => Float64Array.from({ length: n * n }, (_, i) => ((i * seed) % 101) - 50)
const [x, y, z] = [numbers(17), numbers(29), numbers(3)]
const expected = z.map((value, at) => {
  const [row, column] = [Math.floor(at / n), at % n]
  let sum = -value
  for (let k = 0; k < n; k++) sum += 2 * x[k * n + row]! * y[k * n + column]!
  return sum
})
blas.cblas_dgemm(blas.CblasRowMajor, blas.CblasTrans, blas.CblasNoTrans, n, n, n, 2, x, n, y, n, -1, z, n)
assert.deepEqual(z, expected)

assert.equal(blas.cblas_ddot(3, Float64Array.of(1, 2, 3), 1, Float64Array.of(4, 5, 6), 1), 32)
assert.equal(blas.cblas_idamax(3, Float64Array.of(1, -7, 3), 1), 1n)
// A complex result is written to memory by the shim.
const result = new Float32Array(2)
blas.cblas_cdotu(
  MemorySegment.ofBuffer(result) as Parameters<typeof blas.cblas_cdotu>[0],
  1,
  Float32Array.of(1, 2),
  1,
  Float32Array.of(3, 4),
  1,
)
assert.deepEqual([...result], [-5, 10])

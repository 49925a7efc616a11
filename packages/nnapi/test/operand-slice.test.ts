import { ArgumentRangeError, BoundsError } from '@tenon/core'
import { createPool } from '@tenon/pools'
import { expect, test } from 'vitest'
import { operandSlice } from '../src/index.ts'

test('operandSlice() returns the range of a value, and refuses one that does not lie in the pool', () => {
  using pool = createPool(100)
  const slice = operandSlice(pool, 4, 'TENSOR_FLOAT16', [3, 2])
  expect([slice.byteOffset, slice.byteSize, slice.dimensions]).toEqual([4, 12, [3, 2]])
  expect(() => operandSlice(pool, 0, 'TENSOR_FLOAT32', [26])).toThrow(BoundsError)
  expect(() => operandSlice(pool, 0, 'TENSOR_FLOAT32', [0])).toThrow(ArgumentRangeError)
})

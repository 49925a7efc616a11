import { ArgumentRangeError } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import type { Pool, PoolRights, PoolSlice } from '@tenon/pools'
import { checkOperandType, operandByteSize, type OperandType } from '../model/operand-types.ts'

/**
 * Returns the range of a pool that holds a value of an operand type, with all its dimensions.
 *
 * @throws {ArgumentRangeError} if dimensions are 0 or missing. @throws {BoundsError} if the value reaches outside the pool.
 * @example
 * using pool = createPool(1 << 20)
 * pool.write(0, new Float32Array([1, 2, 3]))
 * operandSlice(pool, 0, 'TENSOR_FLOAT32', [3]).byteSize // 12
 */
export function operandSlice<Rights extends PoolRights>(
  pool: Pool<Rights>,
  byteOffset: number,
  type: OperandType,
  dimensions: readonly number[],
): PoolSlice<Rights> {
  if (!Array.isArray(dimensions)) throw wrongType('dimensions', 'an array of sizes', dimensions)
  const sizes: readonly number[] = [...(dimensions as readonly number[])]
  const byteSize = operandByteSize(checkOperandType(type), sizes, 'tensor')
  if (byteSize === 0)
    throw new ArgumentRangeError(`dimensions must all be known and above 0, got [${sizes.join(', ')}]`)
  return pool.slice(byteOffset, byteSize, { dimensions: sizes })
}

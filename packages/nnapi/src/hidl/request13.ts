import { DeviceBuffer } from '../driver/device-buffer.ts'
import { type ExecutionArguments, OMIT, requestOf } from '../driver/execution.ts'
import { invalid, isU32 } from '@tenon/pools/internal'
import { PoolsError, type Pool, type PoolSlice } from '@tenon/pools'
import { checkIndex } from '../model/check-numbers.ts'
import { poolToHidl, type HidlMemory } from './memory.ts'
import { type HidlRequest, type HidlRequestArgument, requestToHidl } from './model.ts'

/** A pool of a request of HAL 1.3: memory, or the token of a device buffer. */
export type HidlMemoryPool = { readonly hidlMemory: HidlMemory } | { readonly token: number }

/** A request of HAL 1.3. */
export interface HidlRequest13 extends Omit<HidlRequest, 'pools'> {
  readonly pools: readonly HidlMemoryPool[]
}

/**
 * Converts the arguments of an execution to the structures of HAL 1.3. The pools keep their descriptors.
 *
 * @param tokenOf returns the token of a device buffer: a number from 1 on, different for each.
 * @throws {PoolsError} if a slice has padding, which HIDL does not have, or a token is not valid.
 * @example
 * using pool = createPool(64)
 * const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
 * executionToHidl(args, () => 1).pools.length // 1
 */
export function executionToHidl(args: ExecutionArguments, tokenOf: (buffer: DeviceBuffer) => number): HidlRequest13 {
  const { pools, ...request } = requestOf(args)
  const buffers = [...args.inputs, ...args.outputs].filter((argument) => argument instanceof DeviceBuffer)
  const converted = pools.map((pool, i): HidlMemoryPool => {
    if (pool.kind !== 'token') return { hidlMemory: poolToHidl(pool as Pool) }
    const token = tokenOf(buffers.find(({ facts }) => facts === pool)!)
    if (!isU32(token) || token === 0) throw invalid('Q11', `pools[${i}].token`, 'must be from 1 to 2^32 - 1', token)
    return { token }
  })
  return { ...requestToHidl({ ...request, pools: [] }), pools: converted }
}

/**
 * Converts a request of HAL 1.3 to the arguments of an execution.
 *
 * @param find returns the pool or device buffer for a pool of the request. It is called once for each pool, in order.
 * @throws {PoolsError} Q3, Q4, Q11
 * @example
 * using pool = createPool(64)
 * const location = { poolIndex: 0, offset: 0, length: 8 }
 * const argument = { hasNoValue: false, location, dimensions: [2] }
 * const request = { inputs: [argument], outputs: [], pools: [{ token: 7 }] }
 * executionFromHidl(request, () => pool).inputs[0].byteSize // 8
 */
export function executionFromHidl(
  { inputs, outputs, pools }: HidlRequest13,
  find: (pool: HidlMemoryPool) => Pool | DeviceBuffer,
): ExecutionArguments {
  const found = pools.map((pool, i) => {
    if ('token' in pool && pool.token === 0) throw invalid('Q11', `pools[${i}].token`, 'must not be 0')
    return find(pool)
  })
  const convert = (list: readonly HidlRequestArgument[], name: string): (PoolSlice | DeviceBuffer | typeof OMIT)[] =>
    list.map(({ hasNoValue, location: { poolIndex, offset, length }, dimensions }, i) => {
      if (hasNoValue) return OMIT
      const path = `${name}[${i}].location`
      checkIndex('Q3', `${path}.poolIndex`, poolIndex, found.length)
      const one = found[poolIndex]!
      if (!(one instanceof DeviceBuffer)) return sliceOf(one, offset, length, dimensions, path)
      if (offset === 0 && length === 0) return one
      throw invalid('Q4', path, 'must be all zeros for a device buffer')
    })
  return { inputs: convert(inputs, 'inputs'), outputs: convert(outputs, 'outputs') as ExecutionArguments['outputs'] }
}

function sliceOf(pool: Pool, offset: number, length: number, dimensions: readonly number[], path: string): PoolSlice {
  try {
    return pool.slice(offset, length, { dimensions })
  } catch (cause) {
    throw new PoolsError('INVALID_ARGUMENT', `${path} must lie inside its pool`, { rule: 'Q4', path, cause })
  }
}

import { describe, LAYOUTS } from '@tenon/core/internal'
import { type OutputShape, PoolsError, type PoolFacts } from '@tenon/pools'
import { refused, isU32 } from '@tenon/pools/internal'
import type { Request, RequestArgument } from '../request/request.ts'
import { FRAME_MAXIMUM } from '../link/link.ts'
import { HEADER_SIZE, readU64, writeU64 } from './frame.ts'

const { size: EXECUTE_SIZE, offsets: EXECUTE } = LAYOUTS.tn_frame_execute_t
const { size: ARGUMENT_SIZE, offsets: ARGUMENT } = LAYOUTS.tn_frame_argument_t
const { size: RESULT_SIZE, offsets: RESULT } = LAYOUTS.tn_frame_result_t
const POOLS_AT = HEADER_SIZE + EXECUTE_SIZE
const POOL_SIZE = 8
const SHAPES_AT = HEADER_SIZE + RESULT_SIZE

export interface PoolName {
  readonly isToken: boolean
  readonly id: number
}

/** Writes a request after the header; returns the length of the whole message. @throws {PoolsError} */
export function writeExecute(
  view: DataView,
  model: number,
  { inputs, outputs, pools }: Request,
  name: (pool: PoolFacts) => PoolName,
): number {
  const all = [...inputs, ...outputs]
  const dimensions = all.reduce((sum, argument) => sum + argument.dimensions.length, 0)
  const length = POOLS_AT + pools.length * POOL_SIZE + all.length * ARGUMENT_SIZE + dimensions * 4
  if (length > FRAME_MAXIMUM || Math.max(inputs.length, outputs.length, pools.length) > 0xffff)
    throw new PoolsError('INVALID_ARGUMENT', `a request must fit ${FRAME_MAXIMUM} bytes, got ${length}`)
  view.setUint32(HEADER_SIZE + EXECUTE.model, model, true)
  view.setUint16(HEADER_SIZE + EXECUTE.inputs, inputs.length, true)
  view.setUint16(HEADER_SIZE + EXECUTE.outputs, outputs.length, true)
  view.setUint16(HEADER_SIZE + EXECUTE.pools, pools.length, true)
  view.setUint16(HEADER_SIZE + EXECUTE.reserved, 0, true)
  view.setUint32(HEADER_SIZE + EXECUTE.dimensions, dimensions, true)
  let at = POOLS_AT
  for (const pool of pools) {
    const { isToken, id } = name(pool)
    view.setUint32(at, isToken ? 1 : 0, true)
    view.setUint32(at + 4, id, true)
    at += POOL_SIZE
  }
  let dimensionsAt = at + all.length * ARGUMENT_SIZE
  for (const argument of all) {
    writeArgument(view, at, argument)
    at += ARGUMENT_SIZE
    for (const dimension of argument.dimensions) {
      view.setUint32(dimensionsAt, u32(dimension), true)
      dimensionsAt += 4
    }
  }
  return length
}

function writeArgument(view: DataView, at: number, { hasNoValue, location, dimensions }: RequestArgument): void {
  view.setUint32(at + ARGUMENT.has_no_value, hasNoValue ? 1 : 0, true)
  view.setUint32(at + ARGUMENT.pool, u32(location.poolIndex), true)
  view.setUint32(at + ARGUMENT.offset, u32(location.offset), true)
  view.setUint32(at + ARGUMENT.length, u32(location.length), true)
  view.setUint32(at + ARGUMENT.padding, u32(location.padding), true)
  view.setUint32(at + ARGUMENT.rank, dimensions.length, true)
}

function u32(value: number): number {
  if (isU32(value)) return value
  throw refused('Q20', `numbers of a request must be whole, from 0 to 2^32 - 1, got ${describe(value)}`)
}

export interface ExecuteFrame {
  readonly model: number
  readonly inputs: readonly RequestArgument[]
  readonly outputs: readonly RequestArgument[]
  readonly pools: readonly PoolName[]
}

export function readExecute(view: DataView): ExecuteFrame {
  const inputCount = view.getUint16(HEADER_SIZE + EXECUTE.inputs, true)
  const outputCount = view.getUint16(HEADER_SIZE + EXECUTE.outputs, true)
  const poolCount = view.getUint16(HEADER_SIZE + EXECUTE.pools, true)
  const pools = Array.from({ length: poolCount }, (_, i) => ({
    isToken: view.getUint32(POOLS_AT + i * POOL_SIZE, true) === 1,
    id: view.getUint32(POOLS_AT + i * POOL_SIZE + 4, true),
  }))
  const argumentsAt = POOLS_AT + poolCount * POOL_SIZE
  let dimensionsAt = argumentsAt + (inputCount + outputCount) * ARGUMENT_SIZE
  const all = Array.from({ length: inputCount + outputCount }, (_, i): RequestArgument => {
    const at = argumentsAt + i * ARGUMENT_SIZE
    const rank = view.getUint32(at + ARGUMENT.rank, true)
    const dimensions = readDimensions(view, dimensionsAt, rank)
    dimensionsAt += rank * 4
    return {
      hasNoValue: view.getUint32(at + ARGUMENT.has_no_value, true) === 1,
      location: {
        poolIndex: view.getUint32(at + ARGUMENT.pool, true),
        offset: view.getUint32(at + ARGUMENT.offset, true),
        length: view.getUint32(at + ARGUMENT.length, true),
        padding: view.getUint32(at + ARGUMENT.padding, true),
      },
      dimensions,
    }
  })
  return {
    model: view.getUint32(HEADER_SIZE + EXECUTE.model, true),
    inputs: all.slice(0, inputCount),
    outputs: all.slice(inputCount),
    pools,
  }
}

/** Writes the result of an execution after the header; returns the length of the whole message. */
export function writeResult(view: DataView, shapes: readonly OutputShape[], driverTime: number): number {
  const dimensions = shapes.reduce((sum, shape) => sum + shape.dimensions.length, 0)
  view.setUint32(HEADER_SIZE + RESULT.outputs, shapes.length, true)
  view.setUint32(HEADER_SIZE + RESULT.dimensions, dimensions, true)
  writeU64(view, HEADER_SIZE + RESULT.driver_time, driverTime)
  let dimensionsAt = SHAPES_AT + shapes.length * 8
  shapes.forEach((shape, i) => {
    view.setUint32(SHAPES_AT + i * 8, shape.isSufficient ? 1 : 0, true)
    view.setUint32(SHAPES_AT + i * 8 + 4, shape.dimensions.length, true)
    for (const dimension of shape.dimensions) {
      view.setUint32(dimensionsAt, dimension, true)
      dimensionsAt += 4
    }
  })
  return dimensionsAt
}

export function readResult(view: DataView): { readonly outputs: OutputShape[]; readonly driverTime: number } {
  const count = view.getUint32(HEADER_SIZE + RESULT.outputs, true)
  let dimensionsAt = SHAPES_AT + count * 8
  const outputs: OutputShape[] = []
  for (let i = 0; i < count; i++) {
    const rank = view.getUint32(SHAPES_AT + i * 8 + 4, true)
    const dimensions = readDimensions(view, dimensionsAt, rank)
    outputs.push({ dimensions, isSufficient: view.getUint32(SHAPES_AT + i * 8, true) === 1 })
    dimensionsAt += rank * 4
  }
  return { outputs, driverTime: readU64(view, HEADER_SIZE + RESULT.driver_time) }
}

function readDimensions(view: DataView, at: number, rank: number): number[] {
  const dimensions: number[] = []
  for (let axis = 0; axis < rank; axis++) dimensions.push(view.getUint32(at + axis * 4, true))
  return dimensions
}

import { invalid } from '../error-status.ts'
import type { Model, Operand } from './model.ts'
import { operandLifetimes } from './model.ts'
import { isWhole } from '../pool/pool-facts.ts'
import { isOpaque, isU32, operandByteSize, operandTypes, type OperandType } from './operand-types.ts'

/** Settings of the checks of models and requests. */
export interface ValidationOptions {
  /** Refuse values that don't lie at a multiple of their element's size (M11); they are legal otherwise. */
  readonly strictAlignment?: boolean
}

/** Checks one operand by itself. @throws {PoolsError} */
export function checkOperand(model: Model, operand: Operand, path: string, options: ValidationOptions): void {
  const { type, lifetime, location } = operand
  if (!Object.hasOwn(operandTypes, type))
    throw invalid('M2', `${path}.type`, 'must be the name of an operand type', type)
  if (!operandLifetimes.includes(lifetime)) throw invalid('M2', `${path}.lifetime`, 'must be a lifetime', lifetime)
  if ((type === 'SUBGRAPH') !== (lifetime === 'SUBGRAPH')) {
    throw invalid(
      'M2',
      `${path}.lifetime`,
      `must be SUBGRAPH exactly for operands of this type, got ${lifetime} for ${type}`,
    )
  }
  checkDimensions(operand, path)
  for (const field of ['poolIndex', 'offset', 'length', 'padding'] as const) {
    if (!isU32(location[field]))
      throw invalid('Q20', `${path}.location.${field}`, 'must be from 0 to 2^32 - 1', location[field])
  }
  if (location.padding !== 0) throw invalid('M6', `${path}.location.padding`, 'must be 0 in a model', location.padding)
  checkQuantization(operand, path)
  checkLocation(model, operand, path)
  if (options.strictAlignment === true && lifetime.startsWith('CONSTANT')) {
    const { byteSize } = operandTypes[type]
    if (byteSize > 0 && location.offset % byteSize !== 0) {
      throw invalid('M11', `${path}.location.offset`, `must be a multiple of ${byteSize}`, location.offset)
    }
  }
}

function checkDimensions({ type, lifetime, dimensions }: Operand, path: string): void {
  const bad = dimensions.findIndex((dimension) => !isU32(dimension))
  if (bad !== -1) throw invalid('Q20', `${path}.dimensions[${bad}]`, 'must be from 0 to 2^32 - 1', dimensions[bad])
  if (!operandTypes[type].isTensor && dimensions.length > 0) {
    throw invalid('M8', `${path}.dimensions`, `must be empty for the scalar type ${type}`, dimensions)
  }
  const isConstant = lifetime === 'CONSTANT_COPY' || lifetime === 'CONSTANT_POOL'
  if (isConstant && operandTypes[type].isTensor && (dimensions.length === 0 || dimensions.includes(0))) {
    throw invalid('M8', `${path}.dimensions`, 'must be known for a constant tensor', dimensions)
  }
  operandByteSize(type, dimensions, path)
}

function checkLocation(model: Model, operand: Operand, path: string): void {
  const { lifetime, location, type, dimensions } = operand
  const { poolIndex, offset, length } = location
  switch (lifetime) {
    case 'CONSTANT_COPY':
      if (poolIndex !== 0) throw invalid('M4', `${path}.location.poolIndex`, 'must be 0 for a copied value', poolIndex)
      if (offset + length > model.operandValues.byteLength) {
        throw invalid(
          'M4',
          `${path}.location`,
          `must lie inside the ${model.operandValues.byteLength} bytes of operandValues, got offset ${offset} and length ${length}`,
        )
      }
      return checkExactSize(type, dimensions, length, path)
    case 'CONSTANT_POOL': {
      const pool = model.pools[poolIndex]
      if (pool === undefined)
        throw invalid('M5', `${path}.location.poolIndex`, `must be below ${model.pools.length}`, poolIndex)
      if (isWhole(pool))
        throw invalid('M14', `${path}.location.poolIndex`, 'must not name a buffer of the driver, nor an image')
      if (offset + length > pool.byteSize) {
        throw invalid(
          'M5',
          `${path}.location`,
          `must lie inside the pool's ${pool.byteSize} bytes, got offset ${offset} and length ${length}`,
        )
      }
      return checkExactSize(type, dimensions, length, path)
    }
    case 'SUBGRAPH':
      if (poolIndex !== 0 || length !== 0 || offset >= model.referenced.length) {
        throw invalid(
          'M15',
          `${path}.location`,
          `must name one of ${model.referenced.length} referenced subgraphs by its offset`,
          offset,
        )
      }
      return
    default:
      if (poolIndex !== 0 || offset !== 0 || length !== 0) {
        throw invalid(
          'M3',
          `${path}.location`,
          `must be all zeros for ${lifetime}, got pool ${poolIndex}, offset ${offset}, length ${length}`,
        )
      }
  }
}

function checkExactSize(type: OperandType, dimensions: readonly number[], length: number, path: string): void {
  if (isOpaque(type)) return
  const expected = operandByteSize(type, dimensions, path)
  if (length !== expected) throw invalid('M7', `${path}.location.length`, `must be exactly ${expected} bytes`, length)
}

/** Scales and zero points of the types (M18). */
function checkQuantization({ type, scale, zeroPoint, dimensions, channelQuant }: Operand, path: string): void {
  const info = operandTypes[type]
  if (!Number.isFinite(Math.fround(scale)) || !Number.isInteger(zeroPoint)) {
    throw invalid('M18', path, `must have a finite 32-bit scale and a whole zeroPoint, got ${scale} and ${zeroPoint}`)
  }
  if ((channelQuant !== undefined) !== (type === 'TENSOR_QUANT8_SYMM_PER_CHANNEL')) {
    throw invalid(
      'M18',
      `${path}.channelQuant`,
      `must be there exactly for TENSOR_QUANT8_SYMM_PER_CHANNEL, the type is ${type}`,
    )
  }
  if (channelQuant !== undefined) return checkChannels(dimensions, channelQuant, scale, zeroPoint, path)
  if (info.zeroPoint !== undefined) {
    const [least, most] = info.zeroPoint
    if (!isScale(scale)) throw invalid('M18', `${path}.scale`, `must be a 32-bit number above 0 for ${type}`, scale)
    if (zeroPoint < least || zeroPoint > most) {
      throw invalid('M18', `${path}.zeroPoint`, `must be from ${least} to ${most} for ${type}`, zeroPoint)
    }
  } else if (type === 'TENSOR_INT32' ? scale < 0 : scale !== 0) {
    throw invalid('M18', `${path}.scale`, `must be 0${type === 'TENSOR_INT32' ? ' or more' : ''} for ${type}`, scale)
  } else if (zeroPoint !== 0) {
    throw invalid('M18', `${path}.zeroPoint`, `must be 0 for ${type}`, zeroPoint)
  }
}

/** Scales are 32-bit numbers: what becomes 0 or infinite as one is none. */
const isScale = (value: number): boolean => Math.fround(value) > 0 && Number.isFinite(Math.fround(value))

function checkChannels(
  dimensions: readonly number[],
  { scales, channelDim }: { readonly scales: readonly number[]; readonly channelDim: number },
  scale: number,
  zeroPoint: number,
  path: string,
): void {
  if (scale !== 0 || zeroPoint !== 0)
    throw invalid('M18', path, 'must have scale and zeroPoint 0 beside scales of its channels')
  if (!isU32(channelDim) || channelDim >= dimensions.length) {
    throw invalid('M18', `${path}.channelQuant.channelDim`, `must be below the rank ${dimensions.length}`, channelDim)
  }
  const channels = dimensions[channelDim]!
  if (channels === 0 || scales.length !== channels || !scales.every(isScale)) {
    throw invalid('M18', `${path}.channelQuant.scales`, `must be ${channels} numbers above 0`, scales.length)
  }
}

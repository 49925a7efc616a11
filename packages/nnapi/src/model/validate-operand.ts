import { invalid, isWhole } from '@tenon/pools/internal'
import { checkAligned, checkIndex, checkLocation, checkU32s, type ValidationOptions } from './check-numbers.ts'
import { type ChannelQuantization, type Model, type Operand, operandLifetimes } from './model.ts'
import { isOpaque, operandByteSize, operandTypes, type OperandType } from './operand-types.ts'

export function checkOperand(model: Model, operand: Operand, path: string, options: ValidationOptions): void {
  const { type, lifetime, location } = operand
  if (!Object.hasOwn(operandTypes, type))
    throw invalid('M2', `${path}.type`, 'must be the name of an operand type', type)
  if (!operandLifetimes.includes(lifetime)) throw invalid('M2', `${path}.lifetime`, 'must be a lifetime', lifetime)
  if ((type === 'SUBGRAPH') !== (lifetime === 'SUBGRAPH'))
    throw invalid('M2', `${path}.lifetime`, `must be SUBGRAPH only for the type SUBGRAPH, got ${lifetime} for ${type}`)
  checkDimensions(operand, path)
  checkLocation(location, path)
  if (location.padding !== 0) throw invalid('M6', `${path}.location.padding`, 'must be 0 in a model', location.padding)
  checkQuantization(operand, path)
  checkPlace(model, operand, path)
  if (lifetime.startsWith('CONSTANT')) checkAligned(type, location.offset, path, options)
}

function checkDimensions({ type, lifetime, dimensions }: Operand, path: string): void {
  checkU32s(dimensions, `${path}.dimensions`)
  const { isTensor } = operandTypes[type]
  if (!isTensor && dimensions.length > 0)
    throw invalid('M8', `${path}.dimensions`, `must be empty for the scalar type ${type}`, dimensions)
  if (lifetime.startsWith('CONSTANT') && isTensor && (dimensions.length === 0 || dimensions.includes(0)))
    throw invalid('M8', `${path}.dimensions`, 'must be known for a constant tensor', dimensions)
  operandByteSize(type, dimensions, path)
}

function checkPlace(model: Model, { lifetime, location, type, dimensions }: Operand, path: string): void {
  const { poolIndex, offset, length } = location
  const received = `got pool ${poolIndex}, offset ${offset}, length ${length}`
  const isInside = (byteSize: number): boolean => offset + length <= byteSize
  const at = `${path}.location`
  if (lifetime === 'CONSTANT_COPY') {
    const { byteLength } = model.operandValues
    if (poolIndex !== 0) throw invalid('M4', `${at}.poolIndex`, 'must be 0 for a copied value', poolIndex)
    if (!isInside(byteLength))
      throw invalid('M4', at, `must lie inside the ${byteLength} bytes of operandValues, ${received}`)
    checkExactSize(type, dimensions, length, path)
  } else if (lifetime === 'CONSTANT_POOL') {
    checkIndex('M5', `${at}.poolIndex`, poolIndex, model.pools.length)
    const pool = model.pools[poolIndex]!
    if (isWhole(pool)) throw invalid('M14', `${at}.poolIndex`, 'must not name a device buffer or an image')
    if (!isInside(pool.byteSize))
      throw invalid('M5', at, `must lie inside the pool's ${pool.byteSize} bytes, ${received}`)
    checkExactSize(type, dimensions, length, path)
  } else if (lifetime === 'SUBGRAPH') {
    const { length: count } = model.referenced
    if (poolIndex !== 0 || length !== 0 || offset >= count)
      throw invalid('M15', at, `must name one of ${count} referenced subgraphs by its offset`, offset)
  } else if (poolIndex !== 0 || offset !== 0 || length !== 0)
    throw invalid('M3', at, `must be all zeros for ${lifetime}, ${received}`)
}

function checkExactSize(type: OperandType, dimensions: readonly number[], length: number, path: string): void {
  if (isOpaque(type)) return
  const expected = operandByteSize(type, dimensions, path)
  if (length !== expected) throw invalid('M7', `${path}.location.length`, `must be exactly ${expected} bytes`, length)
}

function checkQuantization({ type, scale, zeroPoint, dimensions, channelQuant }: Operand, path: string): void {
  const { zeroPoint: range } = operandTypes[type]
  if (!Number.isFinite(Math.fround(scale)) || !Number.isInteger(zeroPoint))
    throw invalid('M18', path, `must have a finite 32-bit scale and a whole zeroPoint, got ${scale} and ${zeroPoint}`)
  if ((channelQuant !== undefined) !== (type === 'TENSOR_QUANT8_SYMM_PER_CHANNEL'))
    throw invalid('M18', `${path}.channelQuant`, `must exist exactly for TENSOR_QUANT8_SYMM_PER_CHANNEL`, type)
  if (channelQuant !== undefined) {
    if (scale !== 0 || zeroPoint !== 0)
      throw invalid('M18', path, 'must have scale and zeroPoint 0 beside channelQuant')
    return checkChannels(dimensions, channelQuant, `${path}.channelQuant`)
  }
  if (range !== undefined) {
    const [least, most] = range
    if (!isScale(scale)) throw invalid('M18', `${path}.scale`, `must be a 32-bit number above 0 for ${type}`, scale)
    if (zeroPoint < least || zeroPoint > most)
      throw invalid('M18', `${path}.zeroPoint`, `must be from ${least} to ${most} for ${type}`, zeroPoint)
    return
  }
  const isInt32 = type === 'TENSOR_INT32'
  if (isInt32 ? scale < 0 : scale !== 0)
    throw invalid('M18', `${path}.scale`, `must be 0${isInt32 ? ' or more' : ''} for ${type}`, scale)
  if (zeroPoint !== 0) throw invalid('M18', `${path}.zeroPoint`, `must be 0 for ${type}`, zeroPoint)
}

const isScale = (value: number): boolean => Math.fround(value) > 0 && Number.isFinite(Math.fround(value))

function checkChannels(dimensions: readonly number[], { scales, channelDim }: ChannelQuantization, path: string): void {
  checkIndex('M18', `${path}.channelDim`, channelDim, dimensions.length)
  const channels = dimensions[channelDim]!
  if (channels === 0 || scales.length !== channels || !scales.every(isScale))
    throw invalid('M18', `${path}.scales`, `must be ${channels} numbers above 0`, scales.length)
}

import { checkOptions } from '@tenon/core/internal'
import { invalid, violationOf, counted, isWhole } from '@tenon/pools/internal'
import type { PoolsError, PoolFacts } from '@tenon/pools'
import { checkAligned, checkIndex, checkLocation, checkU32s, type ValidationOptions } from '../model/check-numbers.ts'
import { checkModelForm, type DataLocation, type Model, type Operand } from '../model/model.ts'
import { combineDimensions, isFullySpecified, isOpaque, operandByteSize, operandTypes } from '../model/operand-types.ts'
import { checkRequestForm, type Request, type RequestArgument } from './request.ts'

/**
 * Checks a request against its model by the rules Q1 to Q10 and P18, without reading memory.
 *
 * @returns the error for the first rule that is broken; undefined for a valid request.
 * @example
 * validateRequest(model, request)?.path // 'inputs'
 */
export function validateRequest(model: Model, request: Request, options?: ValidationOptions): PoolsError | undefined {
  checkOptions(options, ['strictAlignment'])
  checkModelForm(model)
  checkRequestForm(request)
  return violationOf(() => checkRequest(model, request, options))
}

export function checkRequest(model: Model, request: Request, options: ValidationOptions = {}): void {
  const { operands, inputIndexes, outputIndexes } = model.main
  const check = (list: 'inputs' | 'outputs', indexes: readonly number[]): void =>
    request[list].forEach((argument, i) =>
      checkArgument(operands[indexes[i]!]!, argument, request.pools, `${list}[${i}]`, list === 'outputs', options),
    )
  checkCount(request.inputs, inputIndexes, 'inputs')
  checkCount(request.outputs, outputIndexes, 'outputs')
  check('inputs', inputIndexes)
  check('outputs', outputIndexes)
  checkOverlaps(model, request)
}

function checkCount(given: readonly unknown[], wanted: readonly unknown[], path: string): void {
  if (given.length !== wanted.length)
    throw invalid('Q1', path, `must be ${counted(wanted.length, 'argument')}`, given.length)
}

const isZero = ({ offset, length, padding }: DataLocation): boolean => offset === 0 && length === 0 && padding === 0

function checkArgument(
  operand: Operand,
  { location, dimensions, hasNoValue }: RequestArgument,
  pools: readonly PoolFacts[],
  path: string,
  isOutput: boolean,
  options: ValidationOptions,
): void {
  checkLocation(location, path)
  checkU32s(dimensions, `${path}.dimensions`)
  const { poolIndex, offset, length, padding } = location
  if (hasNoValue) {
    if (poolIndex === 0 && isZero(location) && dimensions.length === 0) return
    throw invalid('Q2', path, 'must be all zeros without dimensions, since it has no value')
  }
  checkIndex('Q3', `${path}.location.poolIndex`, poolIndex, pools.length)
  const pool = pools[poolIndex]!
  // A device buffer knows its dimensions.
  if (dimensions.length > 0 || pool.kind !== 'token')
    checkDimensions(operand, dimensions, `${path}.dimensions`, isOutput)
  if (isWhole(pool)) {
    if (!isZero(location)) throw invalid('Q4', `${path}.location`, 'must be all zeros for a device buffer and an image')
    if (isOutput) checkWritable(pool, path)
    return
  }
  if (offset + length + padding > pool.byteSize) {
    const received = `got offset ${offset}, length ${length}, padding ${padding}`
    throw invalid('Q4', `${path}.location`, `must lie inside the pool's ${pool.byteSize} bytes, ${received}`)
  }
  if (length === 0) throw invalid('Q5', `${path}.location.length`, 'must be above 0')
  const known = combineDimensions(operand.dimensions, dimensions)!
  if (isFullySpecified(operand.type, known) && !isOpaque(operand.type)) {
    const expected = operandByteSize(operand.type, known, path)
    if (length !== expected) throw invalid('Q8', `${path}.location.length`, `must be exactly ${expected} bytes`, length)
  }
  if (isOutput) checkWritable(pool, path)
  checkAligned(operand.type, offset, path, options)
}

function checkWritable({ rights }: PoolFacts, path: string): void {
  if (rights !== 'writable') throw invalid('P18', `${path}.location.poolIndex`, 'must name a writable pool', rights)
}

function checkDimensions(operand: Operand, given: readonly number[], at: string, isOutput: boolean): void {
  const { type, dimensions: fixed } = operand
  if (!operandTypes[type].isTensor) {
    if (given.length > 0) throw invalid('Q7', at, 'must be empty for a scalar', given)
    return
  }
  if (given.length === 0) {
    if (!isOutput && !isFullySpecified(type, fixed))
      throw invalid('Q7', at, `must complete the open ones of the model, [${fixed.join(', ')}]`, given)
    return
  }
  if (fixed.length > 0 && fixed.length !== given.length)
    throw invalid('Q6', at, `must have rank ${fixed.length}`, given)
  given.forEach((size, axis) => {
    const wanted = fixed[axis] ?? 0
    if (wanted !== 0 && size !== wanted) throw invalid('Q6', `${at}[${axis}]`, `must be ${wanted}`, size)
    if (size === 0 && !isOutput) throw invalid('Q6', `${at}[${axis}]`, 'must not be 0 for an input')
  })
}

interface Range {
  readonly identity: string
  readonly start: number
  readonly end: number
  readonly path: string
}

function rangeOf(pool: PoolFacts, { offset, length, padding }: DataLocation, path: string): Range {
  const start = pool.identityOffset + offset
  // A pool that is used as a whole is one range, whatever its size.
  return { identity: pool.identity, start, end: isWhole(pool) ? Infinity : start + length + padding, path }
}

/** Checks that no output overlaps another value that the execution reads or writes (Q10, and D19 for device buffers). */
function checkOverlaps(model: Model, { inputs, outputs, pools }: Request): void {
  const rangesOf = (list: readonly RequestArgument[], name: string): Range[] =>
    list.flatMap(({ hasNoValue, location }, i) =>
      hasNoValue ? [] : [rangeOf(pools[location.poolIndex]!, location, `${name}[${i}]`)],
    )
  const written = rangesOf(outputs, 'outputs')
  if (written.length === 0) return
  const constants = [model.main, ...model.referenced].flatMap(({ operands }, s) =>
    operands.flatMap(({ lifetime, location }, i) => {
      const subgraph = s === 0 ? 'main' : `referenced[${s - 1}]`
      return lifetime === 'CONSTANT_POOL'
        ? [rangeOf(model.pools[location.poolIndex]!, location, `${subgraph}.operands[${i}]`)]
        : []
    }),
  )
  const all = [...rangesOf(inputs, 'inputs'), ...constants, ...written]
  const isWritten = new Set(written)
  all.sort((a, b) => (a.identity < b.identity ? -1 : a.identity > b.identity ? 1 : a.start - b.start))
  // In this order, only the range that reaches furthest among those read, and among those written, can overlap the next.
  let [read, write]: [Range | undefined, Range | undefined] = [undefined, undefined]
  const overlaps = (other: Range | undefined, range: Range): boolean =>
    other?.identity === range.identity && other.end > range.start
  for (const range of all) {
    const isOutput = isWritten.has(range)
    const hit = overlaps(write, range) ? write : isOutput && overlaps(read, range) ? read : undefined
    if (hit !== undefined) {
      const [output, other] = isOutput ? [range, hit] : [hit, range]
      throw invalid(output.identity.startsWith('token') ? 'D19' : 'Q10', output.path, `must not overlap ${other.path}`)
    }
    const furthest = isOutput ? write : read
    if (furthest?.identity === range.identity && furthest.end >= range.end) continue
    if (isOutput) write = range
    else read = range
  }
}

import { checkOptions } from '@tenon/core/internal'
import { invalid, type PoolsError, violationOf } from '../error-status.ts'
import type { Model, Operand } from '../model/model.ts'
import {
  combineDimensions,
  isFullySpecified,
  isOpaque,
  isU32,
  operandByteSize,
  operandTypes,
} from '../model/operand-types.ts'
import type { ValidationOptions } from '../model/validate-operand.ts'
import { isWhole, type PoolFacts } from '../pool/pool-facts.ts'
import type { Request, RequestArgument } from './request.ts'

/**
 * Checks a request against its model by the rules Q1 to Q10 and P18, without touching memory.
 *
 * @returns the first rule that is broken, with its place; undefined for a valid request.
 * @example
 * validateRequest(model, request)?.path // 'inputs'
 */
export function validateRequest(
  model: Model,
  request: Request,
  options: ValidationOptions = {},
): PoolsError | undefined {
  checkOptions(options, ['strictAlignment'])
  return violationOf(() => checkRequest(model, request, options))
}

/** As {@link validateRequest}. @throws {PoolsError} */
export function checkRequest(model: Model, request: Request, options: ValidationOptions = {}): void {
  const { operands, inputIndexes, outputIndexes } = model.main
  checkCount(request.inputs, inputIndexes, 'inputs')
  checkCount(request.outputs, outputIndexes, 'outputs')
  request.inputs.forEach((argument, i) => {
    checkArgument(operands[inputIndexes[i]!]!, argument, request.pools, `inputs[${i}]`, false, options)
  })
  request.outputs.forEach((argument, i) => {
    checkArgument(operands[outputIndexes[i]!]!, argument, request.pools, `outputs[${i}]`, true, options)
  })
  checkOverlaps(model, request)
}

function checkCount(given: readonly unknown[], wanted: readonly unknown[], path: string): void {
  if (given.length !== wanted.length) throw invalid('Q1', path, `must be ${wanted.length} arguments`, given.length)
}

function checkArgument(
  operand: Operand,
  argument: RequestArgument,
  pools: readonly PoolFacts[],
  path: string,
  isOutput: boolean,
  options: ValidationOptions,
): void {
  const { location, dimensions, hasNoValue } = argument
  for (const field of ['poolIndex', 'offset', 'length', 'padding'] as const) {
    if (!isU32(location[field]))
      throw invalid('Q20', `${path}.location.${field}`, 'must be from 0 to 2^32 - 1', location[field])
  }
  const bad = dimensions.findIndex((dimension) => !isU32(dimension))
  if (bad !== -1) throw invalid('Q20', `${path}.dimensions[${bad}]`, 'must be from 0 to 2^32 - 1', dimensions[bad])
  const { poolIndex, offset, length, padding } = location
  if (hasNoValue) {
    if (poolIndex !== 0 || offset !== 0 || length !== 0 || padding !== 0 || dimensions.length > 0) {
      throw invalid('Q2', path, 'must be all zeros without dimensions, since it has no value')
    }
    return
  }
  const pool = pools[poolIndex]
  if (pool === undefined) throw invalid('Q3', `${path}.location.poolIndex`, `must be below ${pools.length}`, poolIndex)
  // A buffer of the driver knows its dimensions.
  if (dimensions.length > 0 || pool.kind !== 'token') checkDimensions(operand, dimensions, path, isOutput)
  if (isWhole(pool)) {
    if (offset !== 0 || length !== 0 || padding !== 0)
      throw invalid('Q4', `${path}.location`, 'must be all zeros for a buffer of the driver and for an image')
    if (isOutput) checkWritable(pool, path)
    return
  }
  if (offset + length + padding > pool.byteSize) {
    throw invalid(
      'Q4',
      `${path}.location`,
      `must lie inside the pool's ${pool.byteSize} bytes, got offset ${offset}, length ${length}, padding ${padding}`,
    )
  }
  if (length === 0) throw invalid('Q5', `${path}.location.length`, 'must be above 0')
  const known = combineDimensions(operand.dimensions, dimensions)!
  if (isFullySpecified(operand.type, known) && !isOpaque(operand.type)) {
    const expected = operandByteSize(operand.type, known, path)
    if (length !== expected) throw invalid('Q8', `${path}.location.length`, `must be exactly ${expected} bytes`, length)
  }
  if (isOutput) checkWritable(pool, path)
  const { byteSize } = operandTypes[operand.type]
  if (options.strictAlignment === true && byteSize > 0 && offset % byteSize !== 0) {
    throw invalid('M11', `${path}.location.offset`, `must be a multiple of ${byteSize}`, offset)
  }
}

function checkWritable({ rights }: PoolFacts, path: string): void {
  if (rights !== 'writable')
    throw invalid('P18', `${path}.location.poolIndex`, `must name a writable pool, this one is ${rights}`)
}

function checkDimensions(
  { type, dimensions: fixed }: Operand,
  given: readonly number[],
  path: string,
  isOutput: boolean,
): void {
  if (!operandTypes[type].isTensor) {
    if (given.length > 0) throw invalid('Q7', `${path}.dimensions`, 'must be empty for a scalar')
    return
  }
  if (given.length === 0) {
    if (!isOutput && !isFullySpecified(type, fixed)) {
      throw invalid('Q7', `${path}.dimensions`, `must be given, the model leaves some open: [${fixed.join(', ')}]`)
    }
    return
  }
  if (fixed.length > 0 && fixed.length !== given.length) {
    throw invalid('Q6', `${path}.dimensions`, `must have rank ${fixed.length}`, given)
  }
  given.forEach((size, axis) => {
    const wanted = fixed[axis] ?? 0
    if (wanted !== 0 && size !== wanted) throw invalid('Q6', `${path}.dimensions[${axis}]`, `must be ${wanted}`, size)
    if (size === 0 && !isOutput) throw invalid('Q6', `${path}.dimensions[${axis}]`, 'must not be 0 for an input')
  })
}

interface Range {
  readonly identity: string
  readonly start: number
  readonly end: number
  readonly path: string
}

/** An output must not overlap anything else that the execution reads or writes (Q10); tokens: D19. */
function checkOverlaps(model: Model, { inputs, outputs, pools }: Request): void {
  const rangeOf = (
    poolFacts: PoolFacts,
    { offset, length, padding }: RequestArgument['location'],
    path: string,
  ): Range => {
    const start = poolFacts.identityOffset + offset
    // What is used as a whole is one range, whatever its size.
    return { identity: poolFacts.identity, start, end: isWhole(poolFacts) ? Infinity : start + length + padding, path }
  }
  const rangesOf = (list: readonly RequestArgument[], name: string): Range[] =>
    list.flatMap((argument, i) =>
      argument.hasNoValue ? [] : [rangeOf(pools[argument.location.poolIndex]!, argument.location, `${name}[${i}]`)],
    )
  const written = rangesOf(outputs, 'outputs')
  if (written.length === 0) return
  const constants = [model.main, ...model.referenced].flatMap((subgraph, s) =>
    subgraph.operands.flatMap(({ lifetime, location }, i) =>
      lifetime === 'CONSTANT_POOL'
        ? [
            rangeOf(
              model.pools[location.poolIndex]!,
              location,
              `${s === 0 ? 'main' : `referenced[${s - 1}]`}.operands[${i}]`,
            ),
          ]
        : [],
    ),
  )
  const all = [...rangesOf(inputs, 'inputs'), ...constants, ...written]
  const isWritten = new Set(written)
  all.sort((a, b) => (a.identity < b.identity ? -1 : a.identity > b.identity ? 1 : a.start - b.start))
  // Walking in order: what reaches furthest among those read, and among those written, decides.
  let [read, write]: [Range | undefined, Range | undefined] = [undefined, undefined]
  for (const range of all) {
    if (read?.identity !== range.identity) read = undefined
    if (write?.identity !== range.identity) write = undefined
    const hit =
      write !== undefined && write.end > range.start
        ? write
        : isWritten.has(range) && read !== undefined && read.end > range.start
          ? read
          : undefined
    if (hit !== undefined) {
      const [output, other] = isWritten.has(range) ? [range, hit] : [hit, range]
      throw invalid(output.identity.startsWith('token') ? 'D19' : 'Q10', output.path, `must not overlap ${other.path}`)
    }
    if (isWritten.has(range)) {
      if (write === undefined || range.end > write.end) write = range
    } else if (read === undefined || range.end > read.end) read = range
  }
}

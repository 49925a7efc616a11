import { failed, type OutputShape, PoolsError, refused } from '../error-status.ts'
import { combineDimensions, operandByteSize, operandTypes } from '../model/operand-types.ts'
import type { ImagePool } from '../pool/image-pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { Request, RequestArgument } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { DeviceMemory, refuseToken } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import { allocatePrivate } from './memory.ts'
import type { Plan } from './plan.ts'
import type { Place } from './values.ts'

/** What a request's pools are to the engine. */
export type EnginePool = Pool | DeviceMemory

/** A request whose numbers are checked and whose memory is found, ready to run. */
export interface BoundExecution {
  readonly outputShapes: readonly OutputShape[]
  /** It may be run again, for the same request. */
  readonly isRepeatable: boolean
  /** @throws {PoolsError} */
  run(): void
}

/** An input or output that is copied to where kernels can use it, or from there. */
interface Staged {
  readonly place: Place
  readonly pool: Pool
  readonly offset: number
}

/**
 * Checks a request and finds its memory, before any byte is read or written (D32).
 *
 * @throws {PoolsError} the rules of requests and of device buffers.
 */
export function bindExecution(model: EngineModel, request: Request<EnginePool>): BoundExecution {
  checkRequest(model.model, request)
  const tokens = checkTokens(model, request)
  checkImageInputs(model, request)
  const plan = planOf(model, request)
  const outputShapes = checkOutputs(model, request, plan)
  const staged: { readonly inputs: Staged[]; readonly outputs: Staged[] } = { inputs: [], outputs: [] }
  const { inputIndexes, outputIndexes, operands } = model.model.main
  const places: (readonly [operand: number, place: Place])[] = []
  let copied = 0
  const find = (argument: RequestArgument, operand: number, list: Staged[]): void => {
    if (argument.hasNoValue) return
    const { type } = operands[operand]!
    const byteSize = operandByteSize(type, plan.dimensions[operand]!)
    const direct = placeOf(argument, request, byteSize)
    if (direct !== undefined && direct.address % operandTypes[type].byteSize === 0) {
      places.push([operand, direct])
      return
    }
    copied += byteSize
    if (copied > model.workingBytes)
      throw new PoolsError(
        'RESOURCE_EXHAUSTED_TRANSIENT',
        `the request needs copies of ${copied} bytes of the driver`,
        {
          hint: 'let values start at multiples of the size of their elements, which are used in place.',
        },
      )
    const place = allocatePrivate(byteSize)
    const pool = request.pools[argument.location.poolIndex] as Pool
    list.push({ place, pool, offset: argument.location.offset })
    places.push([operand, place])
  }
  request.inputs.forEach((argument, i) => find(argument, inputIndexes[i]!, staged.inputs))
  request.outputs.forEach((argument, i) => find(argument, outputIndexes[i]!, staged.outputs))
  const files = request.pools.filter((pool): pool is Pool => pool.kind === 'file')
  const run = accessing(request, () => plan.run())
  return {
    outputShapes,
    isRepeatable: !plan.isVolatile && tokens.length === 0,
    run() {
      const faults = files.length === 0 ? NO_FAULTS : files.map((pool) => pool.faults)
      try {
        if (plan.placedFor !== places) {
          for (const [operand, place] of places) plan.setPlace(operand, place)
          plan.placedFor = places
        }
        for (const { place, pool, offset } of staged.inputs) pool.copyValueOut(offset, place.bytes)
        run()
        for (const { place, pool, offset } of staged.outputs) pool.copyValueIn(offset, place.bytes)
        files.forEach((pool, i) => {
          if (pool.faults !== faults[i]) throw failed('P15', 'a file became shorter during the execution')
          if (pool.rights === 'writable') pool.sync()
        })
      } catch (error) {
        for (const { memory } of tokens) memory.isInitialized = false
        throw error
      }
      for (const { memory, output } of tokens) {
        memory.isInitialized = true
        memory.dimensions = outputShapes[output]!.dimensions
      }
    },
  }
}

const NO_FAULTS: readonly number[] = []

/** A run that memory of devices is synchronised around. */
function accessing({ inputs, outputs, pools }: Request<EnginePool>, run: () => void): () => void {
  const used = (list: readonly RequestArgument[]): Set<EnginePool | undefined> =>
    new Set(list.map(({ hasNoValue, location }) => (hasNoValue ? undefined : pools[location.poolIndex])))
  const [read, written] = [used(inputs), used(outputs)]
  let all = run
  for (const pool of pools) {
    if (pool instanceof DeviceMemory || pool.backing !== 'dma-buf' || !(read.has(pool) || written.has(pool))) continue
    const inner = all
    all = () => pool.withAccess(written.has(pool), inner)
  }
  return all
}

/** Where an argument's bytes are, as many as its value has; undefined if they have to be copied. */
function placeOf({ location }: RequestArgument, request: Request<EnginePool>, byteSize: number): Place | undefined {
  const pool = request.pools[location.poolIndex]!
  if (pool instanceof DeviceMemory)
    return { bytes: pool.memory.bytes.subarray(0, byteSize), address: pool.memory.address }
  if (pool.bytes === undefined || pool.kind === 'device-image') return undefined
  const { offset } = location
  return { bytes: pool.bytes.subarray(offset, offset + byteSize), address: pool.address + offset }
}

/** Calls `check` for each argument that is a device buffer. */
function eachToken(
  { inputs, outputs, pools }: Request<EnginePool>,
  check: (memory: DeviceMemory, isInput: boolean, i: number, path: string) => void,
): void {
  const each = (list: readonly RequestArgument[], isInput: boolean): void =>
    list.forEach(({ hasNoValue, location }, i) => {
      const pool = hasNoValue ? undefined : pools[location.poolIndex]
      if (pool instanceof DeviceMemory) check(pool, isInput, i, `${isInput ? 'inputs' : 'outputs'}[${i}]`)
    })
  each(inputs, true)
  each(outputs, false)
}

/** Device buffers are for what they were allocated for (D17, D18). @throws {PoolsError} D31 */
export function checkRoles(model: EngineModel, request: Request<EnginePool>): void {
  eachToken(request, (memory, isInput, i, path) => {
    if (!memory.hasRole(model, isInput, i)) throw refuseToken(path)
  })
}

/** The device buffers that are written, and which outputs they are, after their roles and states were checked (D17, D18). */
function checkTokens(
  model: EngineModel,
  request: Request<EnginePool>,
): { readonly memory: DeviceMemory; readonly output: number }[] {
  checkRoles(model, request)
  const written: { memory: DeviceMemory; output: number }[] = []
  eachToken(request, (memory, isInput, i, path) => {
    if (!isInput) {
      if (combineDimensions(request.outputs[i]!.dimensions, memory.initialDimensions) === undefined)
        throw dimensionsRefused('D18', path)
      written.push({ memory, output: i })
      return
    }
    if (!memory.isInitialized) {
      throw failed('D17', `${path} is a device buffer that holds no value`, path)
    }
    if (combineDimensions(request.inputs[i]!.dimensions, memory.dimensions) === undefined)
      throw dimensionsRefused('D17', path)
  })
  return written
}

const dimensionsRefused = (rule: string, path: string): PoolsError =>
  refused(rule, `${path}.dimensions must fit those of its device buffer`, path)

/** An image's value is its pixels: as many bytes as the operand has. @throws {PoolsError} P11 */
function checkImage(pool: Pool, needed: number, path: string): void {
  const { pixelsSize } = pool as ImagePool
  if (pixelsSize !== needed)
    throw failed('P11', `${path} must be an image of ${needed} bytes of pixels, it has ${pixelsSize}`, path)
}

function checkImageInputs({ model }: EngineModel, { inputs, pools }: Request<EnginePool>): void {
  const { operands, inputIndexes } = model.main
  inputs.forEach(({ hasNoValue, location, dimensions }, i) => {
    const pool = pools[location.poolIndex]
    if (hasNoValue || pool?.kind !== 'device-image') return
    const operand = operands[inputIndexes[i]!]!
    checkImage(
      pool as Pool,
      operandByteSize(operand.type, combineDimensions(operand.dimensions, dimensions)!),
      `inputs[${i}]`,
    )
  })
}

function planOf(model: EngineModel, request: Request<EnginePool>): Plan {
  const { operands, inputIndexes } = model.model.main
  const dimensions = new Map(
    request.inputs.map((argument, i) => {
      const operand = operands[inputIndexes[i]!]!
      if (argument.hasNoValue) return [inputIndexes[i]!, undefined] as const
      const pool = request.pools[argument.location.poolIndex]!
      const known = pool instanceof DeviceMemory ? pool.dimensions : argument.dimensions
      return [inputIndexes[i]!, combineDimensions(operand.dimensions, known)!] as const
    }),
  )
  return model.planFor(dimensions, (operand) => {
    const argument = request.inputs[inputIndexes.indexOf(operand)]!
    // Copied before it is looked at: the memory may change at any time.
    const byteSize = operandByteSize(operands[operand]!.type, dimensions.get(operand)!)
    const pool = request.pools[argument.location.poolIndex]!
    if (pool instanceof DeviceMemory) return Buffer.from(pool.memory.bytes.subarray(0, byteSize))
    const value = Buffer.alloc(byteSize)
    pool.copyValueOut(argument.location.offset, value)
    return value
  })
}

/** The shapes of all outputs. @throws {PoolsError} Q14, with the shapes, if memory is too small; D18, D20 */
function checkOutputs(model: EngineModel, request: Request<EnginePool>, plan: Plan): OutputShape[] {
  const { operands, outputIndexes } = model.model.main
  const shapes = request.outputs.map((argument, i) => {
    const { type } = operands[outputIndexes[i]!]!
    const dimensions = plan.dimensions[outputIndexes[i]!]!
    const path = `outputs[${i}]`
    if (argument.hasNoValue) throw refused('Q2', `${path} must have a value: no output may be left out`, path)
    if (combineDimensions(argument.dimensions, dimensions) === undefined) {
      throw refused('Q6', `${path}.dimensions must fit the result's [${dimensions.join(', ')}]`, path)
    }
    const needed = operandByteSize(type, dimensions)
    const pool = request.pools[argument.location.poolIndex]!
    if (pool instanceof DeviceMemory) {
      if (combineDimensions(pool.initialDimensions, dimensions) === undefined || needed > pool.memory.bytes.length) {
        pool.isInitialized = false
        throw failed('D20', `${path} is a device buffer that the result doesn't fit`, path)
      }
      return { dimensions, isSufficient: true }
    }
    if (pool.kind === 'device-image') {
      checkImage(pool, needed, path)
      return { dimensions, isSufficient: true }
    }
    return { dimensions, isSufficient: needed <= argument.location.length }
  })
  if (shapes.every(({ isSufficient }) => isSufficient)) return shapes
  throw new PoolsError('OUTPUT_INSUFFICIENT_SIZE', 'an output has too little memory for the result (rule Q14)', {
    rule: 'Q14',
    hint: 'outputShapes tells how large each output is; give it that much and run again.',
    outputShapes: shapes,
  })
}

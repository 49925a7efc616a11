import { failed, type OutputShape, PoolsError, refused } from '../error-status.ts'
import { combineDimensions, operandByteSize, operandTypes } from '../model/operand-types.ts'
import type { ImagePool } from '../pool/image-pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { Request, RequestArgument } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { DeviceMemory, refuseToken } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import { allocatePrivate } from './memory.ts'
import type { Place, Plan } from './plan.ts'

export type EnginePool = Pool | DeviceMemory

/** Returns the pool of an argument; undefined for one that is left out. */
export function poolOf({ pools }: Request<EnginePool>, argument: RequestArgument): EnginePool | undefined {
  return argument.hasNoValue ? undefined : pools[argument.location.poolIndex]
}

/** A checked request with its memory, ready to run. */
export interface BoundExecution {
  readonly outputShapes: readonly OutputShape[]
  readonly isRepeatable: boolean
  run(): void
}

/** An input or output that kernels cannot use in place, and that is copied. */
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
    const pool = poolOf(request, argument)
    if (pool === undefined) return
    const { type } = operands[operand]!
    const { offset } = argument.location
    const byteSize = operandByteSize(type, plan.dimensions[operand]!)
    const direct = placeOf(pool, offset, byteSize)
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
          hint: 'Align values to the size of their elements, so that they are used in place.',
        },
      )
    const place = allocatePrivate(byteSize)
    list.push({ place, pool: pool as Pool, offset })
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

/** Wraps a run so that device memory is synchronised around it. */
function accessing(request: Request<EnginePool>, run: () => void): () => void {
  const used = (list: readonly RequestArgument[]): Set<unknown> =>
    new Set(list.map((argument) => poolOf(request, argument)))
  const [read, written] = [used(request.inputs), used(request.outputs)]
  let all = run
  for (const pool of request.pools) {
    if (pool instanceof DeviceMemory || pool.backing !== 'dma-buf' || !(read.has(pool) || written.has(pool))) continue
    const inner = all
    all = () => pool.withAccess(written.has(pool), inner)
  }
  return all
}

/** Returns the bytes of an argument's value in place; undefined if they have to be copied. */
function placeOf(pool: EnginePool, offset: number, byteSize: number): Place | undefined {
  if (pool instanceof DeviceMemory)
    return { bytes: pool.memory.bytes.subarray(0, byteSize), address: pool.memory.address }
  if (pool.bytes === undefined || pool.kind === 'device-image') return undefined
  return { bytes: pool.bytes.subarray(offset, offset + byteSize), address: pool.address + offset }
}

function eachToken(
  request: Request<EnginePool>,
  check: (memory: DeviceMemory, isInput: boolean, i: number, path: string) => void,
): void {
  for (const list of ['inputs', 'outputs'] as const)
    request[list].forEach((argument, i) => {
      const pool = poolOf(request, argument)
      if (pool instanceof DeviceMemory) check(pool, list === 'inputs', i, `${list}[${i}]`)
    })
}

/** Checks that device buffers are used as they were allocated for (D17, D18). @throws {PoolsError} D31 */
export function checkRoles(model: EngineModel, request: Request<EnginePool>): void {
  eachToken(request, (memory, isInput, i, path) => {
    if (!memory.hasRole(model, isInput, i)) throw refuseToken(path)
  })
}

interface Written {
  readonly memory: DeviceMemory
  readonly output: number
}

/** Checks the roles and states of device buffers (D17, D18), and returns those that are written, with their outputs. */
function checkTokens(model: EngineModel, request: Request<EnginePool>): Written[] {
  checkRoles(model, request)
  const written: Written[] = []
  eachToken(request, (memory, isInput, i, path) => {
    if (isInput && !memory.isInitialized) throw failed('D17', `${path} is a device buffer that holds no value`, path)
    const given = (isInput ? request.inputs : request.outputs)[i]!.dimensions
    if (combineDimensions(given, isInput ? memory.dimensions : memory.initialDimensions) === undefined)
      throw refused(isInput ? 'D17' : 'D18', `${path}.dimensions must fit those of its device buffer`, path)
    if (!isInput) written.push({ memory, output: i })
  })
  return written
}

/** Checks that the pixels of an image have as many bytes as the operand. @throws {PoolsError} P11 */
function checkImage(pool: Pool, needed: number, path: string): void {
  const { pixelsSize } = pool as ImagePool
  if (pixelsSize !== needed)
    throw failed('P11', `${path} must be an image of ${needed} bytes of pixels, got ${pixelsSize}`, path)
}

function checkImageInputs({ model }: EngineModel, request: Request<EnginePool>): void {
  const { operands, inputIndexes } = model.main
  request.inputs.forEach((argument, i) => {
    const pool = poolOf(request, argument)
    if (pool?.kind !== 'device-image') return
    const { type, dimensions } = operands[inputIndexes[i]!]!
    checkImage(pool as Pool, operandByteSize(type, combineDimensions(dimensions, argument.dimensions)!), `inputs[${i}]`)
  })
}

function planOf(model: EngineModel, request: Request<EnginePool>): Plan {
  const { operands, inputIndexes } = model.model.main
  const dimensions = new Map(
    request.inputs.map((argument, i) => {
      const index = inputIndexes[i]!
      const pool = poolOf(request, argument)
      const known = pool instanceof DeviceMemory ? pool.dimensions : argument.dimensions
      return [index, pool === undefined ? undefined : combineDimensions(operands[index]!.dimensions, known)!] as const
    }),
  )
  return model.planFor(dimensions, (operand) => {
    const argument = request.inputs[inputIndexes.indexOf(operand)]!
    // The value is copied before it is read, because the memory may change at any time.
    const value = Buffer.alloc(operandByteSize(operands[operand]!.type, dimensions.get(operand)!))
    const pool = poolOf(request, argument)!
    if (pool instanceof DeviceMemory) pool.memory.bytes.copy(value)
    else pool.copyValueOut(argument.location.offset, value)
    return value
  })
}

/** Returns the shapes of all outputs. @throws {PoolsError} Q14, with the shapes, if memory is too small; D18, D20 */
function checkOutputs(model: EngineModel, request: Request<EnginePool>, plan: Plan): OutputShape[] {
  const { operands, outputIndexes } = model.model.main
  const shapes = request.outputs.map((argument, i) => {
    const { type } = operands[outputIndexes[i]!]!
    const dimensions = plan.dimensions[outputIndexes[i]!]!
    const path = `outputs[${i}]`
    const pool = poolOf(request, argument)
    if (pool === undefined) throw refused('Q2', `${path} must have a value, because no output may be left out`, path)
    if (combineDimensions(argument.dimensions, dimensions) === undefined)
      throw refused('Q6', `${path}.dimensions must fit the result's [${dimensions.join(', ')}]`, path)
    const needed = operandByteSize(type, dimensions)
    if (pool instanceof DeviceMemory) {
      if (combineDimensions(pool.initialDimensions, dimensions) === undefined || needed > pool.memory.bytes.length) {
        pool.isInitialized = false
        throw failed('D20', `${path} is a device buffer that does not fit the result`, path)
      }
    } else if (pool.kind === 'device-image') checkImage(pool, needed, path)
    else return { dimensions, isSufficient: needed <= argument.location.length }
    return { dimensions, isSufficient: true }
  })
  if (shapes.every(({ isSufficient }) => isSufficient)) return shapes
  throw new PoolsError('OUTPUT_INSUFFICIENT_SIZE', 'an output has too little memory for the result', {
    rule: 'Q14',
    hint: 'Give each output as much memory as its shape in outputShapes needs, and run again.',
    outputShapes: shapes,
  })
}

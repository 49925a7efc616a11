import { failed, refused } from '@tenon/pools/internal'
import { type OutputShape, PoolsError, type ImagePool, type Pool } from '@tenon/pools'
import type { Operand } from '../model/model.ts'
import { combineDimensions, operandByteSize } from '../model/operand-types.ts'
import type { Request, RequestArgument } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { DeviceMemory, type PoolRange, refuseToken } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import { isAligned, type Place, placeIn, type PrivateMemory } from './memory.ts'
import type { Plan } from './plan.ts'

export type EnginePool = Pool | DeviceMemory

export interface Use {
  readonly argument: RequestArgument
  /** Undefined for an argument that is left out. */
  readonly pool: EnginePool | undefined
  readonly operand: Operand
  readonly operandIndex: number
  readonly isInput: boolean
  /** The index among the inputs or outputs. */
  readonly index: number
  readonly path: string
}

/** Returns the inputs, then the outputs, of a request that was checked. */
export function usesOf({ model }: EngineModel, request: Request<EnginePool>): readonly Use[] {
  const { operands, inputIndexes, outputIndexes } = model.main
  const usesIn = (list: 'inputs' | 'outputs', operandIndexes: readonly number[]): Use[] =>
    request[list].map((argument, index) => {
      const operandIndex = operandIndexes[index]!
      const pool = argument.hasNoValue ? undefined : request.pools[argument.location.poolIndex]!
      const isInput = list === 'inputs'
      return {
        argument,
        pool,
        operand: operands[operandIndex]!,
        operandIndex,
        isInput,
        index,
        path: `${list}[${index}]`,
      }
    })
  return [...usesIn('inputs', inputIndexes), ...usesIn('outputs', outputIndexes)]
}

/** A checked request, whose memory was found. Its owner releases it. */
export interface BoundExecution {
  readonly outputShapes: readonly OutputShape[]
  /** Whether it can run again, as long as nothing that it uses is released. */
  readonly isRepeatable: boolean
  run(): void
  /** Frees the copies of its values. */
  release(): void
}

/** An input or output that kernels cannot use in place, and that is copied. */
interface Staged {
  readonly place: Place
  readonly pool: Pool
  readonly offset: number
}

/** Checks a request and finds its memory, before any byte is read or written (D32). */
export function bindExecution(model: EngineModel, request: Request<EnginePool>): BoundExecution {
  checkRequest(model.model, request)
  const uses = usesOf(model, request)
  checkRoles(model, uses)
  for (const use of uses) checkState(use)
  const plan = planOf(model, uses)
  const memory = model.newMemory()
  const release = (): void => {
    memory.release()
    if (plan.isVolatile) plan.memory.release()
  }
  try {
    return bindTo(plan, request, uses, memory, release)
  } catch (error) {
    release()
    throw error
  }
}

function bindTo(
  plan: Plan,
  request: Request<EnginePool>,
  uses: readonly Use[],
  copies: PrivateMemory,
  release: () => void,
): BoundExecution {
  const outputShapes = checkOutputs(uses, plan)
  const staged: { readonly inputs: Staged[]; readonly outputs: Staged[] } = { inputs: [], outputs: [] }
  const places: (readonly [operand: number, place: Place])[] = []
  const inFiles: PoolRange[] = []
  const tokens: { readonly memory: DeviceMemory; readonly shape: OutputShape }[] = []
  for (const { argument, pool, operand, operandIndex, isInput, index } of uses) {
    if (pool === undefined) continue
    if (pool instanceof DeviceMemory && !isInput) tokens.push({ memory: pool, shape: outputShapes[index]! })
    const { offset } = argument.location
    const byteSize = operandByteSize(operand.type, plan.dimensions[operandIndex]!)
    if (pool.kind === 'file') inFiles.push({ pool: pool as Pool, byteOffset: offset, byteSize })
    let place = placeOf(pool, offset, byteSize)
    if (place === undefined || !isAligned(place, operand.type)) {
      const hint = 'Align values to the size of their elements, so that they are used in place.'
      place = copies.allocate(byteSize, "the request's copies of values", hint)
      staged[isInput ? 'inputs' : 'outputs'].push({ place, pool: pool as Pool, offset })
    }
    places.push([operandIndex, place])
  }
  const files = new Set(
    request.pools.filter((pool): pool is Pool => pool.kind === 'file' && pool.rights === 'writable'),
  )
  const run = accessing(uses, () => plan.run())
  const isRepeatable = !plan.isVolatile && !uses.some(({ pool }) => pool instanceof DeviceMemory)
  return {
    outputShapes,
    // The states of device buffers are checked each time. A model frees the plans of shapes that it has not seen for long.
    get isRepeatable() {
      return isRepeatable && !plan.memory.isReleased
    },
    release,
    run() {
      try {
        if (plan.placedFor !== places) {
          for (const [operand, place] of places) plan.setPlace(operand, place)
          plan.placedFor = places
        }
        for (const { place, pool, offset } of staged.inputs) pool.copyValueOut(offset, place.bytes)
        run()
        for (const { place, pool, offset } of staged.outputs) pool.copyValueIn(offset, place.bytes)
        for (const { pool, byteOffset, byteSize } of inFiles)
          if (pool.isMissing(byteOffset, byteSize))
            throw failed('P15', 'the file of a value became shorter, or has no room')
        for (const pool of files) pool.sync()
      } catch (error) {
        for (const { memory } of tokens) memory.isInitialized = false
        throw error
      }
      for (const { memory, shape } of tokens) {
        memory.isInitialized = true
        memory.dimensions = shape.dimensions
      }
    },
  }
}

/** Wraps a run so that device memory is synchronised around it. */
function accessing(uses: readonly Use[], run: () => void): () => void {
  const writes = new Map<Pool, boolean>()
  for (const { pool, isInput } of uses) {
    if (pool === undefined || pool instanceof DeviceMemory || pool.backing !== 'dma-buf') continue
    writes.set(pool, writes.get(pool) === true || !isInput)
  }
  return [...writes].reduce(
    (inner, [pool, isWriting]) =>
      () =>
        pool.withAccess(isWriting, inner),
    run,
  )
}

/** Returns the bytes of an argument's value in place; undefined if they have to be copied. */
function placeOf(pool: EnginePool, offset: number, byteSize: number): Place | undefined {
  if (pool instanceof DeviceMemory) return placeIn(pool.memory, 0, byteSize)
  const { place, kind } = pool
  return place === undefined || kind === 'device-image' ? undefined : placeIn(place, offset, byteSize)
}

/** Checks that device buffers are used as they were allocated for (D17, D18). @throws {PoolsError} D31 */
export function checkRoles(model: EngineModel, uses: readonly Use[]): void {
  for (const { pool, isInput, index, path } of uses)
    if (pool instanceof DeviceMemory && !pool.hasRole(model, isInput, index)) throw refuseToken(path)
}

/** Checks the state of a device buffer (D17, D18), and the size of an image that is an input (P11). @throws {PoolsError} */
function checkState({ pool, operand, isInput, path, argument: { dimensions } }: Use): void {
  if (pool instanceof DeviceMemory) {
    if (isInput && !pool.isInitialized) throw failed('D17', `${path} is a device buffer that holds no value`, path)
    if (combineDimensions(dimensions, isInput ? pool.dimensions : pool.initialDimensions) === undefined)
      throw refused(isInput ? 'D17' : 'D18', `${path}.dimensions must fit those of its device buffer`, path)
  } else if (isInput && pool?.kind === 'device-image')
    checkImage(pool, operandByteSize(operand.type, combineDimensions(operand.dimensions, dimensions)!), path)
}

function checkImage(pool: Pool, needed: number, path: string): void {
  const { pixelsSize } = pool as ImagePool
  if (pixelsSize !== needed)
    throw failed('P11', `${path} must be an image of ${needed} bytes of pixels, got ${pixelsSize}`, path)
}

function planOf(model: EngineModel, uses: readonly Use[]): Plan {
  const inputs = uses.filter(({ isInput }) => isInput)
  const dimensions = new Map(
    inputs.map(({ pool, operand, operandIndex, argument }) => {
      const known = pool instanceof DeviceMemory ? pool.dimensions : argument.dimensions
      return [operandIndex, pool === undefined ? undefined : combineDimensions(operand.dimensions, known)!] as const
    }),
  )
  return model.planFor(dimensions, (wanted) => {
    const { pool, operand, argument } = inputs.find(({ operandIndex }) => operandIndex === wanted)!
    // The value is copied before it is read, because the memory may change at any time.
    const value = Buffer.alloc(operandByteSize(operand.type, dimensions.get(wanted)!))
    if (pool instanceof DeviceMemory) pool.memory.bytes.copy(value)
    else pool!.copyValueOut(argument.location.offset, value)
    return value
  })
}

/** Returns the shapes of all outputs. @throws {PoolsError} Q14, with the shapes, if memory is too small; D18, D20 */
function checkOutputs(uses: readonly Use[], plan: Plan): OutputShape[] {
  const outputs = uses.filter(({ isInput }) => !isInput)
  const shapes = outputs.map(({ argument, pool, operand, operandIndex, path }) => {
    const dimensions = plan.dimensions[operandIndex]!
    if (pool === undefined) throw refused('Q2', `${path} must have a value, because no output may be left out`, path)
    if (combineDimensions(argument.dimensions, dimensions) === undefined)
      throw refused('Q6', `${path}.dimensions must fit the result's [${dimensions.join(', ')}]`, path)
    const needed = operandByteSize(operand.type, dimensions)
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

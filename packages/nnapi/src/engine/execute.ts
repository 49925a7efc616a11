import { failed, refused } from '@tenon/pools/internal'
import { type OutputShape, PoolsError, type ImagePool, type Pool } from '@tenon/pools'
import { combineDimensions, isFullySpecified, operandByteSize } from '../model/operand-types.ts'
import type { Request } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { Binding } from './binding.ts'
import { type EnginePool, type Use, usesOf } from './use.ts'
import { DeviceMemory, refuseToken } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import type { PrivateMemory } from './memory.ts'
import type { Plan } from './plan.ts'

/** A checked request, whose memory was found. Its owner releases it. */
export interface BoundExecution {
  readonly outputShapes: readonly OutputShape[]
  /** Whether it can run again, as long as nothing that it uses is released. */
  readonly isRepeatable: boolean
  run(): void
  /** Frees the copies of its values. */
  release(): void
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
  const binding = new Binding(plan, copies)
  for (const use of uses) binding.add(use)
  const files = request.pools.filter((pool): pool is Pool => pool.kind === 'file' && pool.rights === 'writable')
  const run = accessing(uses, () => plan.run())
  const written = uses.flatMap(({ pool, isInput, index }) =>
    pool instanceof DeviceMemory && !isInput ? [{ memory: pool, shape: outputShapes[index]! }] : [],
  )
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
        binding.begin()
        run()
        binding.end()
        for (const pool of new Set(files)) pool.sync()
      } catch (error) {
        for (const { memory } of written) memory.isInitialized = false
        throw error
      }
      for (const { memory, shape } of written) {
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

/** Checks that device buffers are used as they were allocated for (D17, D18). @throws {PoolsError} D31 */
export function checkRoles(model: EngineModel, uses: readonly Use[]): void {
  for (const { pool, isInput, index, path } of uses)
    if (pool instanceof DeviceMemory && !pool.hasRole(model, isInput, index)) throw refuseToken(path)
}

/** Checks the state of a device buffer (D17, D18), and the size of an image that is an input (P11). @throws {PoolsError} */
function checkState({ pool, operand, isInput, path, argument: { dimensions } }: Use): void {
  if (pool instanceof DeviceMemory) {
    if (isInput && !pool.isInitialized) throw failed('D17', `${path} is a device buffer that holds no value`, path)
    if (isInput && !isFullySpecified(operand.type, pool.dimensions))
      throw failed('D17', `${path} is a device buffer whose value has no elements`, path)
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
    if (pool instanceof DeviceMemory) pool.storage.read(value)
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
      if (combineDimensions(pool.initialDimensions, dimensions) === undefined) {
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

import { ArgumentError } from '@tenon/core'
import { checkOptions, describe, inspectAsText, ManagedLifetime, wrongType } from '@tenon/core/internal'
import { counted, invalid, isWhole } from '@tenon/pools/internal'
import { OperandLayout } from '../engine/memory.ts'
import { createFrozenPool, type Pool, PoolSlice } from '@tenon/pools'
import { encodeValue, type ConstantValue } from './values.ts'
import {
  modelText,
  NOWHERE,
  type ChannelQuantization,
  type DataLocation,
  type Model,
  type Operand,
  type OperandLifetime,
  type Operation,
  type Subgraph,
} from './model.ts'
import { checkOperandType, type OperandType } from './operand-types.ts'
import { checkModel } from './validate-model.ts'

/** The parameters of quantized types. */
export interface Quantization {
  readonly scale?: number
  readonly zeroPoint?: number
  /** The scales of a `TENSOR_QUANT8_SYMM_PER_CHANNEL`, which has no `scale`. */
  readonly channelQuant?: ChannelQuantization
}

/** An operand of a model that is being built. */
export interface OperandHandle {
  /** The index of the operand in the model. */
  readonly index: number
}

/** The type of the operand that an operation writes. */
export interface OutputType extends Quantization {
  readonly type: OperandType
  readonly dimensions: readonly number[]
}

/** The size of the largest values that are copied into the model. Larger ones are put into a pool (M12). */
const COPIED_VALUE_MAXIMUM = 128

/** Collects the operands and operations of a model. Operations are added in the order in which they run. */
export class ModelBuilder {
  static {
    inspectAsText(this)
  }
  readonly #operands: Operand[] = []
  readonly #operations: Operation[] = []
  readonly #inputs: number[] = []
  readonly #outputs: number[] = []
  readonly #values: number[] = []
  readonly #pools: Pool[] = []
  readonly #large: { readonly index: number; readonly bytes: Uint8Array }[] = []
  #isFinished = false

  /** Adds an operand whose value comes with each request. A dimension of 0 is open, and no dimensions leave the rank open. */
  input(type: OperandType, dimensions: readonly number[], quantization: Quantization = {}): OperandHandle {
    const handle = this.#add(type, dimensions, quantization, 'SUBGRAPH_INPUT', NOWHERE)
    this.#inputs.push(handle.index)
    return handle
  }

  /**
   * Adds a constant: numbers or bytes, which are copied now, or a slice of a pool, which is not copied. The driver copies the
   * constants of a pool that is not frozen.
   */
  constant(
    type: OperandType,
    dimensions: readonly number[],
    value: ConstantValue | PoolSlice,
    quantization: Quantization = {},
  ): OperandHandle {
    if (value instanceof PoolSlice) {
      if (isWhole(value.pool)) throw invalid('M14', `operands[${this.#operands.length}]`, 'must not lie in an image')
      const { byteOffset: offset, byteSize: length } = value
      const location = { poolIndex: this.#poolIndex(value.pool), offset, length, padding: 0 }
      return this.#add(type, dimensions, quantization, 'CONSTANT_POOL', location)
    }
    const bytes = encodeValue(type, value)
    if (bytes.length > COPIED_VALUE_MAXIMUM) {
      const handle = this.#add(type, dimensions, quantization, 'CONSTANT_POOL', NOWHERE)
      this.#large.push({ index: handle.index, bytes })
      return handle
    }
    const alignment = bytes.length >= 4 ? 4 : bytes.length >= 2 ? 2 : 1
    while (this.#values.length % alignment !== 0) this.#values.push(0)
    const location = { poolIndex: 0, offset: this.#values.length, length: bytes.length, padding: 0 }
    this.#values.push(...bytes)
    return this.#add(type, dimensions, quantization, 'CONSTANT_COPY', location)
  }

  /** Adds a scalar constant. */
  scalar(type: 'INT32' | 'UINT32' | 'FLOAT32' | 'FLOAT16' | 'BOOL', value: number | boolean): OperandHandle {
    return this.constant(type, [], value)
  }

  /** Adds an optional operand of an operation that is left out. */
  noValue(type: OperandType, dimensions: readonly number[] = []): OperandHandle {
    return this.#add(type, dimensions, {}, 'NO_VALUE', NOWHERE)
  }

  /**
   * Adds an operation that writes one operand.
   *
   * @param type the name of the operation in the driver's registry.
   * @returns the operand that it writes.
   */
  operation(type: string, inputs: readonly OperandHandle[], output: OutputType): OperandHandle {
    return this.operationOf(type, inputs, [output])[0]!
  }

  /**
   * Adds an operation that writes any number of operands, for example `SPLIT`.
   *
   * @returns the operands that it writes.
   */
  operationOf(type: string, inputs: readonly OperandHandle[], outputs: readonly OutputType[]): OperandHandle[] {
    const read = inputs.map((input, i) => this.#indexOf(input, `inputs[${i}]`))
    const handles = outputs.map((output) =>
      this.#add(output.type, output.dimensions, output, 'TEMPORARY_VARIABLE', NOWHERE),
    )
    this.#operations.push({ type, inputs: read, outputs: handles.map(({ index }) => index) })
    return handles
  }

  /** Makes the operand that an operation writes an output of the model. */
  output(handle: OperandHandle): void {
    this.#checkOpen()
    const operand = this.#operands[this.#indexOf(handle, 'output')]
    if (operand?.lifetime !== 'TEMPORARY_VARIABLE')
      throw new ArgumentError(`an output must be written by an operation and named once, got ${describe(handle.index)}`)
    this.#operands[handle.index] = { ...operand, lifetime: 'SUBGRAPH_OUTPUT' }
    this.#outputs.push(handle.index)
  }

  toString(): string {
    return `ModelBuilder (${counted(this.#operands.length, 'operand')}, ${counted(this.#operations.length, 'operation')})`
  }

  /** @internal */
  finish(relaxed: boolean): BuiltModel {
    this.#isFinished = true
    const own = this.#placeLargeValues()
    const [operands, operations] = [this.#operands, this.#operations]
    const main = { operands, operations, inputIndexes: this.#inputs, outputIndexes: this.#outputs }
    const operandValues = Uint8Array.from(this.#values)
    const model = new BuiltModel({ main, operandValues, pools: this.#pools, relaxed }, own)
    try {
      checkModel(model)
    } catch (error) {
      model[Symbol.dispose]()
      throw error
    }
    return model
  }

  #add(
    type: OperandType,
    dimensions: readonly number[],
    quantization: Quantization | OutputType,
    lifetime: OperandLifetime,
    location: DataLocation,
  ): OperandHandle {
    this.#checkOpen()
    const known = ['scale', 'zeroPoint', 'channelQuant', 'type', 'dimensions'] as const
    const { scale = 0, zeroPoint = 0, channelQuant } = checkOptions<Partial<OutputType>>(quantization, known)
    checkOperandType(type)
    if (!Array.isArray(dimensions)) throw wrongType('dimensions', 'an array of sizes', dimensions)
    const channels = channelQuant === undefined ? {} : { channelQuant }
    const operand = { type, dimensions: [...dimensions], scale, zeroPoint, lifetime, location, ...channels }
    return { index: this.#operands.push(operand) - 1 }
  }

  #checkOpen(): void {
    if (this.#isFinished) throw invalid('M13', 'model', 'is built already, and can only be changed inside the callback')
  }

  #indexOf(handle: OperandHandle, path: string): number {
    const index: unknown = handle?.index
    if (typeof index === 'number' && index in this.#operands) return index
    throw invalid('M13', path, 'must be an operand of this model', describe(index))
  }

  #poolIndex(pool: Pool): number {
    const index = this.#pools.indexOf(pool)
    return index !== -1 ? index : this.#pools.push(pool) - 1
  }

  #placeLargeValues(): Pool | undefined {
    const layout = new OperandLayout()
    const offsets = this.#large.map(({ bytes }) => layout.add(bytes.length))
    if (offsets.length === 0) return undefined
    const contents = new Uint8Array(layout.byteSize)
    this.#large.forEach(({ bytes }, i) => contents.set(bytes, offsets[i]!))
    const pool = createFrozenPool(contents, { label: 'constants' })
    const poolIndex = this.#poolIndex(pool)
    this.#large.forEach(({ index, bytes: { length } }, i) => {
      const location = { poolIndex, offset: offsets[i]!, length, padding: 0 }
      this.#operands[index] = { ...this.#operands[index]!, location }
    })
    return pool
  }
}

/** A model from the builder. It owns the pool of its larger constants, and no pool that was passed to the builder. */
export class BuiltModel extends ManagedLifetime implements Model<Pool> {
  readonly main: Subgraph
  readonly referenced: readonly Subgraph[] = []
  readonly operandValues: Uint8Array
  readonly pools: readonly Pool[]
  readonly relaxed: boolean
  readonly #own: Pool | undefined

  /** @internal takes `own` over */
  constructor(model: Required<Omit<Model<Pool>, 'referenced'>>, own: Pool | undefined) {
    super()
    this.main = model.main
    this.operandValues = model.operandValues
    this.pools = model.pools
    this.relaxed = model.relaxed
    this.#own = own
  }

  override toString(): string {
    return `BuiltModel ${modelText(this)}`
  }

  protected override get label(): string {
    return 'the model'
  }

  /** Closes the pool of its larger constants, which is refused while a prepared model uses them. */
  protected override seal(): void {
    this.#own?.[Symbol.dispose]()
  }

  protected override release(): void {}
}

/** The options of {@link buildModel}. */
export interface ModelOptions {
  /** Whether drivers may compute float32 with the range and precision of float16. */
  readonly relaxed?: boolean
}

/**
 * Builds a model.
 *
 * @returns a model that the caller closes.
 * @throws {PoolsError} with the rule that the model breaks. @throws {ArgumentError} if a part is not valid.
 * @example
 * const model = buildModel((g) => {
 *   const x = g.input('TENSOR_FLOAT32', [4])
 *   const y = g.constant('TENSOR_FLOAT32', [4], [1, 2, 3, 4])
 *   g.output(g.operation('ADD', [x, y, g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions: [4] }))
 * })
 */
export function buildModel(describeModel: (builder: ModelBuilder) => void, options?: ModelOptions): BuiltModel {
  const { relaxed = false } = checkOptions(options, ['relaxed'])
  if (typeof describeModel !== 'function')
    throw wrongType('describeModel', 'a function that receives a builder', describeModel)
  const builder = new ModelBuilder()
  describeModel(builder)
  return builder.finish(relaxed)
}

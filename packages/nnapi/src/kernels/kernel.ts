import type { PlacedBuffer } from '../engine/placed-buffer.ts'
import type { ChannelQuantization } from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'

/** An operand, as a kernel sees it when it plans. */
export interface KernelOperand {
  readonly type: OperandType
  /** All known for an input. For an output as in the model, which may leave some open. */
  readonly dimensions: readonly number[]
  readonly scale: number
  readonly zeroPoint: number
  /** The scales of a `TENSOR_QUANT8_SYMM_PER_CHANNEL`. */
  readonly channelQuant?: ChannelQuantization
}

/** An input, as a kernel sees it when it plans. */
export interface KernelInput extends KernelOperand {
  /** The number of dimensions; undefined while it is open, in the check of models whose shapes come with requests. */
  readonly rank: number | undefined
  /** Whether the operand has a value. */
  readonly isPresent: boolean
  /**
   * Returns the values, which are read once into memory of the driver: for scalars, shapes and axes that outputs depend on.
   *
   * @throws {PoolsError} if another operation of the model computes them.
   */
  readonly numbers: () => readonly number[]
}

/** A step for the library of operations; see `csrc/include/tenon_nnapi.h` of the core. */
export interface NativeStep {
  readonly operation: number
  /** Which inputs of the operation it takes, by index. */
  readonly inputs: readonly number[]
  /** Which outputs of the operation it writes, by index; the first by default. */
  readonly outputs?: readonly number[]
  readonly activation?: number
  readonly numbers?: readonly number[]
  readonly reals?: readonly number[]
}

/** The plan of an operation for operands of certain shapes. */
export interface KernelPlan {
  /** The dimensions of each output. */
  readonly dimensions: readonly (readonly number[])[]
  /** The steps in C. */
  readonly native?: NativeStep | readonly NativeStep[]
  /** Or the step in TypeScript, with the bytes of the present inputs and of the outputs. Others may change them meanwhile. */
  readonly run?: (inputs: readonly Uint8Array[], outputs: readonly Uint8Array[]) => void
  /**
   * The step if some of the operands lie in buffers that the driver has placed: these buffers, and the bytes of the other operands. Without it,
   * their values are copied before and after the step.
   */
  readonly runPlaced?: (
    inputs: readonly (Uint8Array | PlacedBuffer)[],
    outputs: readonly (Uint8Array | PlacedBuffer)[],
  ) => void
}

/**
 * An operation of a driver.
 *
 * @example
 * const negate: Kernel = {
 *   plan: ([x]) => ({
 *     dimensions: [x.dimensions],
 *     run: ([from], [to]) => from.forEach((byte, i) => (to[i] = ~byte)),
 *   }),
 * }
 */
export interface Kernel {
  /** @throws {PoolsError} `INVALID_ARGUMENT` if the operation cannot work on such operands. */
  plan(inputs: readonly KernelInput[], outputs: readonly KernelOperand[]): KernelPlan
}

/** The operations of a driver by name. */
export type KernelRegistry = ReadonlyMap<string, Kernel>

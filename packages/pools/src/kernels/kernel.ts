import { PoolsError } from '../error-status.ts'
import type { ChannelQuantization } from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'

/** What a kernel learns of an operand before it runs. */
export interface KernelOperand {
  readonly type: OperandType
  /** Of an input: all known. Of an output: as the model declares them, with what it leaves open. */
  readonly dimensions: readonly number[]
  readonly scale: number
  readonly zeroPoint: number
  /** Of a `TENSOR_QUANT8_SYMM_PER_CHANNEL`. */
  readonly channelQuant?: ChannelQuantization
}

/** What a kernel learns of an input. */
export interface KernelInput extends KernelOperand {
  /** False if the operand was left out. */
  readonly isPresent: boolean
  /**
   * The values, read once into memory of the driver: for scalars, shapes and axes, on which the shape of outputs depends.
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
  readonly activation?: number
  readonly numbers?: readonly number[]
  readonly reals?: readonly number[]
}

/** How an operation will run on operands of certain shapes. */
export interface KernelPlan {
  /** The dimensions of each output. */
  readonly dimensions: readonly (readonly number[])[]
  /** Runs it in C... */
  readonly native?: NativeStep
  /** ...or in TypeScript: bytes of the present inputs and of the outputs, valid during the call, which others may change. */
  readonly run?: (inputs: readonly Uint8Array[], outputs: readonly Uint8Array[]) => void
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
  /** @throws {PoolsError} `INVALID_ARGUMENT` if it can't work on such operands. */
  plan(inputs: readonly KernelInput[], outputs: readonly KernelOperand[]): KernelPlan
}

/** The operations of a driver by name. */
export type KernelRegistry = ReadonlyMap<string, Kernel>

/** For kernels: refuses operands. */
export function refuse(operation: string, sentence: string): PoolsError {
  return new PoolsError('INVALID_ARGUMENT', `${operation} ${sentence}`)
}

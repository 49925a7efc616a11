import {
  addressOf,
  CONSTANTS,
  LAYOUTS,
  libraryFunctions,
  type LibraryFunctions,
  newArrayBuffer,
  writeAddress,
} from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import type { NativeStep } from '../kernels/kernel.ts'
import type { Operand } from '../model/model.ts'
import { operandTypes } from '../model/operand-types.ts'

export type ProgramTensor = Pick<Operand, 'type' | 'dimensions' | 'scale' | 'zeroPoint' | 'channelQuant'>

/** A step, and the indices of its tensors: the inputs, then the outputs. */
export interface ProgramStep {
  readonly native: NativeStep
  readonly inputCount: number
  readonly tensors: readonly number[]
}

const { size: HEADER_SIZE, offsets: HEADER } = LAYOUTS.tn_nn_program_t
const { size: TENSOR_SIZE, offsets: TENSOR } = LAYOUTS.tn_nn_tensor_t
const { size: STEP_SIZE, offsets: STEP } = LAYOUTS.tn_nn_step_t
const NUMBERS = (STEP.reals - STEP.numbers) / 4
const REALS = (STEP_SIZE - STEP.reals) / 4

let library: LibraryFunctions<'tenon_nnapi'> | undefined

const reasons: Readonly<Record<number, string>> = {
  [CONSTANTS.TN_NN_BAD_INDEX]: 'an index lies outside its axis',
  [CONSTANTS.TN_NN_DIVIDED_BY_ZERO]: 'a whole number is divided by 0',
}

/** Steps for the library of operations, laid out and checked once. The addresses of tensors are set before each run. */
export class Program {
  readonly #view: DataView
  readonly #address: number
  readonly #library = (library ??= libraryFunctions('tenon_nnapi'))
  readonly #failed: number

  /** @throws {PoolsError} `GENERAL_FAILURE` if a kernel planned a step that the library refuses. */
  constructor(tensors: readonly ProgramTensor[], steps: readonly ProgramStep[]) {
    const operandCount = steps.reduce((sum, step) => sum + step.tensors.length, 0)
    const scaleCount = tensors.reduce((sum, { channelQuant }) => sum + (channelQuant?.scales.length ?? 0), 0)
    const stepsAt = HEADER_SIZE + tensors.length * TENSOR_SIZE
    const operandsAt = stepsAt + steps.length * STEP_SIZE
    const scalesAt = operandsAt + operandCount * 4
    this.#failed = scalesAt + scaleCount * 4
    const buffer = newArrayBuffer(this.#failed + 4, 16)
    this.#address = addressOf(buffer)
    const view = new DataView(buffer)
    this.#view = view
    view.setUint32(HEADER.struct_size, HEADER_SIZE, true)
    view.setUint32(HEADER.step_count, steps.length, true)
    view.setUint32(HEADER.tensor_count, tensors.length, true)
    view.setUint32(HEADER.operand_count, operandCount, true)
    this.#setPointer(HEADER.tensors, this.#address + HEADER_SIZE)
    this.#setPointer(HEADER.steps, this.#address + stepsAt)
    this.#setPointer(HEADER.operands, this.#address + operandsAt)
    let scale = scalesAt
    tensors.forEach((tensor, i) => {
      this.#writeTensor(HEADER_SIZE + i * TENSOR_SIZE, tensor, scale)
      scale += 4 * (tensor.channelQuant?.scales.length ?? 0)
    })
    let operand = 0
    steps.forEach((step, i) => {
      this.#writeStep(stepsAt + i * STEP_SIZE, step, operand)
      for (const index of step.tensors) view.setUint32(operandsAt + 4 * operand++, index, true)
    })
    this.#expectSuccess(this.#library.tn_nn_check(this.#address, this.#address + this.#failed))
  }

  setAddress(tensor: number, address: number): void {
    writeAddress(this.#view, HEADER_SIZE + tensor * TENSOR_SIZE + TENSOR.data, address)
  }

  run(first: number, count: number): void {
    this.#expectSuccess(this.#library.tn_nn_run(this.#address, first, count, this.#address + this.#failed))
  }

  #expectSuccess(outcome: unknown): void {
    if (outcome === 0) return
    const step = this.#view.getInt32(this.#failed, true)
    const reason = reasons[outcome as number] ?? `the library of operations refuses it (${String(outcome)})`
    throw new PoolsError('GENERAL_FAILURE', `operation ${step} failed: ${reason}`)
  }

  #setPointer(at: number, address: number): void {
    writeAddress(this.#view, at, address)
  }

  #writeTensor(at: number, tensor: ProgramTensor, scalesAt: number): void {
    const { type, dimensions, scale, zeroPoint, channelQuant } = tensor
    const view = this.#view
    const count = dimensions.reduce((total, size) => total * size, 1)
    view.setBigUint64(at + TENSOR.count, BigInt(count), true)
    view.setUint32(at + TENSOR.type, operandTypes[type].number, true)
    view.setUint32(at + TENSOR.rank, dimensions.length, true)
    for (let axis = 0; axis < CONSTANTS.TN_NN_RANK; axis++)
      view.setUint32(at + TENSOR.dimensions + axis * 4, dimensions[axis] ?? 1, true)
    view.setFloat32(at + TENSOR.scale, scale, true)
    view.setInt32(at + TENSOR.zero_point, zeroPoint, true)
    if (channelQuant === undefined) return
    this.#setPointer(at + TENSOR.scales, this.#address + scalesAt)
    view.setUint32(at + TENSOR.channel_axis, channelQuant.channelDim, true)
    channelQuant.scales.forEach((one, i) => view.setFloat32(scalesAt + 4 * i, one, true))
  }

  #writeStep(at: number, { native, inputCount }: ProgramStep, firstOperand: number): void {
    const view = this.#view
    const { operation, activation = 0, numbers = [], reals = [] } = native
    if (numbers.length > NUMBERS || reals.length > REALS) {
      const sentence = `a step must have at most ${NUMBERS} numbers and ${REALS} reals, got ${numbers.length} and ${reals.length}`
      throw new PoolsError('GENERAL_FAILURE', sentence)
    }
    view.setUint32(at + STEP.operation, operation, true)
    view.setUint32(at + STEP.input_count, inputCount, true)
    view.setUint32(at + STEP.first_operand, firstOperand, true)
    view.setInt32(at + STEP.activation, activation, true)
    numbers.forEach((number, i) => view.setInt32(at + STEP.numbers + i * 4, number, true))
    reals.forEach((real, i) => view.setFloat32(at + STEP.reals + i * 4, real, true))
  }
}

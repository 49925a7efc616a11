import { addressOf, newArrayBuffer, pointerBits } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import type { NativeStep } from '../kernels/kernel.ts'
import { nativeOperations } from '../kernels/native-operations.ts'
import type { ChannelQuantization } from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'
import { operandTypes } from '../model/operand-types.ts'

/** A tensor as the library of operations sees it. */
export interface ProgramTensor {
  readonly type: OperandType
  readonly dimensions: readonly number[]
  readonly scale: number
  readonly zeroPoint: number
  readonly channelQuant?: ChannelQuantization
}

/** A step with the tensors that it uses: inputs, then the output. */
export interface ProgramStep {
  readonly native: NativeStep
  readonly tensors: readonly number[]
}

// Layouts of csrc/pools/nnapi/nnapi.h, in bytes.
const TENSOR = 72
const STEP = 64
const HEADER = 40
const [RANK, NUMBERS, REALS] = [6, 10, 2]

/** What the outcomes of the library mean. */
const reasons: Readonly<Record<number, string>> = {
  [-2]: 'an index lies outside its axis',
  [-4]: 'a whole number is divided by 0',
}

/**
 * Steps for the library of operations, laid out in memory and checked once, and run by one call. The addresses of tensors are
 * set before each run.
 */
export class Program {
  readonly #view: DataView
  readonly #address: number
  readonly #library = nativeOperations()
  readonly #failed: number

  /** @throws {PoolsError} `GENERAL_FAILURE` if a kernel planned a step that the library refuses. */
  constructor(tensors: readonly ProgramTensor[], steps: readonly ProgramStep[]) {
    const operandCount = steps.reduce((sum, step) => sum + step.tensors.length, 0)
    const scaleCount = tensors.reduce((sum, { channelQuant }) => sum + (channelQuant?.scales.length ?? 0), 0)
    const stepsAt = HEADER + tensors.length * TENSOR
    const operandsAt = stepsAt + steps.length * STEP
    const scalesAt = operandsAt + operandCount * 4
    this.#failed = scalesAt + scaleCount * 4
    const buffer = newArrayBuffer(this.#failed + 4, 16)
    this.#address = addressOf(buffer)
    const view = new DataView(buffer)
    this.#view = view
    view.setUint32(0, HEADER, true)
    view.setUint32(4, steps.length, true)
    view.setUint32(8, tensors.length, true)
    view.setUint32(12, operandCount, true)
    this.#setPointer(16, this.#address + HEADER)
    this.#setPointer(24, this.#address + stepsAt)
    this.#setPointer(32, this.#address + operandsAt)
    let scale = scalesAt
    tensors.forEach((tensor, i) => {
      this.#writeTensor(HEADER + i * TENSOR, tensor, scale)
      scale += 4 * (tensor.channelQuant?.scales.length ?? 0)
    })
    let operand = 0
    steps.forEach((step, i) => {
      this.#writeStep(stepsAt + i * STEP, step, operand)
      for (const index of step.tensors) view.setUint32(operandsAt + 4 * operand++, index, true)
    })
    this.#expectSuccess(this.#library.check(this.#address, this.#address + this.#failed))
  }

  /** Says where a tensor is. */
  setAddress(tensor: number, address: number): void {
    this.#view.setFloat64(HEADER + tensor * TENSOR, pointerBits(address), true)
  }

  /** Runs steps. @throws {PoolsError} `GENERAL_FAILURE` if one fails. */
  run(first: number, count: number): void {
    this.#expectSuccess(this.#library.run(this.#address, first, count, this.#address + this.#failed))
  }

  #expectSuccess(outcome: unknown): void {
    if (outcome === 0) return
    const step = this.#view.getInt32(this.#failed, true)
    const reason = reasons[outcome as number] ?? `the library of operations refuses it (${String(outcome)})`
    throw new PoolsError('GENERAL_FAILURE', `operation ${step} failed: ${reason}`)
  }

  #setPointer(at: number, address: number): void {
    this.#view.setBigUint64(at, BigInt(address), true)
  }

  #writeTensor(
    at: number,
    { type, dimensions, scale, zeroPoint, channelQuant }: ProgramTensor,
    scalesAt: number,
  ): void {
    const view = this.#view
    const count = dimensions.reduce((total, size) => total * size, 1)
    view.setBigUint64(at + 8, BigInt(count), true)
    view.setUint32(at + 16, operandTypes[type].number, true)
    view.setUint32(at + 20, dimensions.length, true)
    for (let axis = 0; axis < RANK; axis++) view.setUint32(at + 24 + axis * 4, dimensions[axis] ?? 1, true)
    view.setFloat32(at + 48, scale, true)
    view.setInt32(at + 52, zeroPoint, true)
    if (channelQuant === undefined) return
    this.#setPointer(at + 56, this.#address + scalesAt)
    view.setUint32(at + 64, channelQuant.channelDim, true)
    channelQuant.scales.forEach((one, i) => view.setFloat32(scalesAt + 4 * i, one, true))
  }

  #writeStep(at: number, { native, tensors }: ProgramStep, firstOperand: number): void {
    const view = this.#view
    const { operation, activation = 0, numbers = [], reals = [] } = native
    if (numbers.length > NUMBERS || reals.length > REALS) {
      const sentence = `a step has at most ${NUMBERS} numbers and ${REALS} reals, got ${numbers.length} and ${reals.length}`
      throw new PoolsError('GENERAL_FAILURE', sentence)
    }
    view.setUint32(at, operation, true)
    view.setUint32(at + 4, tensors.length - 1, true)
    view.setUint32(at + 8, firstOperand, true)
    view.setInt32(at + 12, activation, true)
    numbers.forEach((number, i) => view.setInt32(at + 16 + i * 4, number, true))
    reals.forEach((real, i) => view.setFloat32(at + 56 + i * 4, real, true))
  }
}

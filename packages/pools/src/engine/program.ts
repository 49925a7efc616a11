import { addressOf, newArrayBuffer, pointerBits } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import type { NativeStep } from '../kernels/kernel.ts'
import { nativeRun } from '../kernels/native-operations.ts'
import type { OperandType } from '../model/operand-types.ts'
import { operandTypes } from '../model/operand-types.ts'

/** A tensor as the library of operations sees it. */
export interface ProgramTensor {
  readonly type: OperandType
  readonly dimensions: readonly number[]
  readonly scale: number
  readonly zeroPoint: number
}

/** A step with the tensors that it uses: inputs, then the output. */
export interface ProgramStep {
  readonly native: NativeStep
  readonly tensors: readonly number[]
}

// Layouts of csrc/nnapi/nnapi.h, in bytes.
const TENSOR = 56
const STEP = 64
const HEADER = 32
const RANK = 6

/**
 * Steps for the library of operations, laid out in memory once and run by one call. The addresses of tensors are set before
 * each run.
 */
export class Program {
  readonly #view: DataView
  readonly #address: number
  readonly #run = nativeRun()
  readonly #failed: number

  constructor(tensors: readonly ProgramTensor[], steps: readonly ProgramStep[]) {
    const operandCount = steps.reduce((sum, step) => sum + step.tensors.length, 0)
    const stepsAt = HEADER + tensors.length * TENSOR
    const operandsAt = stepsAt + steps.length * STEP
    this.#failed = operandsAt + operandCount * 4
    const buffer = newArrayBuffer(this.#failed + 4, 16)
    this.#address = addressOf(buffer)
    const view = new DataView(buffer)
    this.#view = view
    view.setUint32(0, HEADER, true)
    view.setUint32(4, steps.length, true)
    this.#setPointer(8, this.#address + HEADER)
    this.#setPointer(16, this.#address + stepsAt)
    this.#setPointer(24, this.#address + operandsAt)
    tensors.forEach((tensor, i) => this.#writeTensor(HEADER + i * TENSOR, tensor))
    let operand = 0
    steps.forEach((step, i) => {
      this.#writeStep(stepsAt + i * STEP, step, operand)
      for (const index of step.tensors) view.setUint32(operandsAt + 4 * operand++, index, true)
    })
  }

  /** Says where a tensor is. */
  setAddress(tensor: number, address: number): void {
    this.#view.setFloat64(HEADER + tensor * TENSOR, pointerBits(address), true)
  }

  /** Runs steps. @throws {PoolsError} `GENERAL_FAILURE` if one fails. */
  run(first: number, count: number): void {
    const code = Number(this.#run(this.#address, first, count, this.#address + this.#failed))
    if (code === 0) return
    const step = code === -3 ? -1 : this.#view.getUint32(this.#failed, true)
    const reason = code === -2 ? 'an index lies outside its axis' : `outcome ${code}`
    throw new PoolsError('GENERAL_FAILURE', `operation ${step} failed: ${reason}`)
  }

  #setPointer(at: number, address: number): void {
    this.#view.setBigUint64(at, BigInt(address), true)
  }

  #writeTensor(at: number, { type, dimensions, scale, zeroPoint }: ProgramTensor): void {
    const view = this.#view
    const count = dimensions.reduce((total, size) => total * size, 1)
    view.setBigUint64(at + 8, BigInt(count), true)
    view.setUint32(at + 16, operandTypes[type].number, true)
    view.setUint32(at + 20, dimensions.length, true)
    for (let axis = 0; axis < RANK; axis++) view.setUint32(at + 24 + axis * 4, dimensions[axis] ?? 1, true)
    view.setFloat32(at + 48, scale, true)
    view.setInt32(at + 52, zeroPoint, true)
  }

  #writeStep(at: number, { native, tensors }: ProgramStep, firstOperand: number): void {
    const view = this.#view
    const { operation, activation = 0, numbers = [], reals = [] } = native
    view.setUint32(at, operation, true)
    view.setUint32(at + 4, tensors.length - 1, true)
    view.setUint32(at + 8, firstOperand, true)
    view.setInt32(at + 12, activation, true)
    numbers.forEach((number, i) => view.setInt32(at + 16 + i * 4, number, true))
    reals.forEach((real, i) => view.setFloat32(at + 56 + i * 4, real, true))
  }
}

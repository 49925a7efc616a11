import { type OperationName, operationTypes } from '../model/operation-types.ts'
import { PoolsError } from '../../error-status.ts'
import type { Kernel, KernelInput, KernelOperand, NativeStep } from './kernel.ts'

export const FLOATS: readonly string[] = ['TENSOR_FLOAT32', 'TENSOR_FLOAT16']
export const QUANT8: readonly string[] = ['TENSOR_QUANT8_ASYMM', 'TENSOR_QUANT8_ASYMM_SIGNED']
export const REALS: readonly string[] = [...FLOATS, ...QUANT8]

export const isFloat = ({ type }: KernelOperand): boolean => FLOATS.includes(type)

export const productOf = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1)

export type Entry = readonly [name: string, kernel: Kernel]

/** The shape of the one output, and the step in C, which takes the first input unless it names others. */
export interface Planned extends Partial<Omit<NativeStep, 'operation'>> {
  readonly shape: readonly number[]
}

/** Defines a kernel with one output. @param counts the possible numbers of inputs; undefined for any. */
export function define(
  name: OperationName,
  counts: readonly number[] | undefined,
  plan: (operation: Operation) => Planned,
): Entry {
  const operation = operationTypes[name]
  const kernel: Kernel = {
    plan(inputs, [output]) {
      const { shape, ...step } = plan(new Operation(name, inputs, output!, counts))
      return { dimensions: [shape], native: { operation, inputs: [0], ...step } }
    },
  }
  return [name, kernel]
}

/** An operation that is being planned: its operands, and checks that refuse them with the operation's name. */
export class Operation {
  readonly name: string
  readonly inputs: readonly KernelInput[]
  readonly output: KernelOperand

  constructor(name: string, inputs: readonly KernelInput[], output: KernelOperand, counts?: readonly number[]) {
    this.name = name
    this.inputs = inputs
    this.output = output
    if (counts !== undefined && !counts.includes(inputs.length))
      throw this.refused(`must get ${counts.join(' or ')} inputs, got ${inputs.length}`)
  }

  refused(sentence: string): Error {
    return new PoolsError('INVALID_ARGUMENT', `${this.name} ${sentence}`)
  }

  input(index: number): KernelInput {
    return this.inputs[index]!
  }

  tensor(index: number, types: readonly string[], what: string, least = 1, most = 6): KernelInput {
    const input = this.input(index)
    this.checkType(input, types, what)
    this.checkRank(input, least, most, what)
    return input
  }

  scalar(index: number, type: string, what: string): number {
    this.checkType(this.input(index), [type], what)
    return this.input(index).numbers()[0]!
  }

  whole(index: number, what = `input ${index}`): number {
    return this.scalar(index, 'INT32', what)
  }

  pair(first: number): Pair {
    return [this.whole(first), this.whole(first + 1)]
  }

  /** Returns the fused activation: NNAPI's FuseCode, 0 to 3. */
  activation(index: number): number {
    const code = this.whole(index, 'an activation')
    if (code < 0 || code > 3) throw this.refused(`must get an activation from 0 to 3, got ${code}`)
    return code
  }

  /** Returns an axis of a tensor; a negative one is counted from the end. */
  axis(index: number, rank: number): number {
    const axis = this.whole(index, 'an axis')
    const wrapped = axis < 0 ? axis + rank : axis
    if (wrapped < 0 || wrapped >= rank) throw this.refused(`must get an axis from ${-rank} to ${rank - 1}, got ${axis}`)
    return wrapped
  }

  /** Returns the TENSOR_INT32 input with a list of numbers, whose length is checked before they are read. */
  list(index: number, least: number, most: number, what: string): readonly number[] {
    const input = this.tensor(index, ['TENSOR_INT32'], what, 1, 1)
    const length = input.dimensions[0]!
    if (length < least || length > most)
      throw this.refused(`must get ${what} of ${rangeText(least, most)} numbers, got ${length}`)
    return input.numbers()
  }

  checkType({ type }: KernelOperand, allowed: readonly string[], what: string): void {
    if (!allowed.includes(type)) throw this.refused(`must get ${what} of type ${allowed.join(' or ')}, got ${type}`)
  }

  checkRank({ dimensions }: KernelOperand, least: number, most: number, what: string): void {
    if (dimensions.length < least || dimensions.length > most)
      throw this.refused(`must get ${what} of rank ${rangeText(least, most)}, got [${dimensions.join(', ')}]`)
  }

  checkSameType({ type, scale, zeroPoint }: KernelOperand): void {
    const { output } = this
    if (type !== output.type || scale !== output.scale || zeroPoint !== output.zeroPoint)
      throw this.refused(`must have operands of one type, scale and zero point, got ${type} and ${output.type}`)
  }
}

const rangeText = (least: number, most: number): string => (least === most ? `${least}` : `${least} to ${most}`)

/** Two numbers: of columns and rows, or before and after an axis. */
export type Pair = readonly [number, number]

/** The padding of one axis: NNAPI's scheme, or the elements before and after. */
export type Padding = number | Pair

export type Windowing = readonly [size: number, before: number]

const INT32_MAXIMUM = 2 ** 31 - 1

/** Returns the positions of a window, dilation included. Implicit schemes are NNAPI's 1 (same) and 2 (valid). */
export function windowing(op: Operation, input: number, window: number, stride: number, padding: Padding): Windowing {
  if (!(stride >= 1 && window >= 1 && window <= INT32_MAXIMUM))
    throw op.refused(`must get strides, dilations and windows from 1 to 2^31 - 1, got ${stride} and ${window}`)
  let before: number
  let size: number
  if (typeof padding === 'number') {
    if (padding !== 1 && padding !== 2) throw op.refused(`must get padding scheme 1 or 2, got ${padding}`)
    const isSame = padding === 1
    size = Math.ceil((isSame ? input : input - window + 1) / stride)
    before = isSame ? Math.floor(Math.max((size - 1) * stride + window - input, 0) / 2) : 0
  } else {
    if (Math.min(...padding) < 0) throw op.refused(`must get padding from 0 up, got ${padding.join(' and ')}`)
    before = padding[0]
    size = Math.floor((input + before + padding[1] - window) / stride) + 1
  }
  if (size < 1 || size > INT32_MAXIMUM) throw op.refused(`must get a window that fits, got ${window} over ${input}`)
  return [size, before]
}

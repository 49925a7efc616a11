import { counted } from '@tenon/pools/internal'
import { PoolsError } from '@tenon/pools'
import { type OperationName, operationTypes } from '../model/operation-types.ts'
import type { Kernel, KernelInput, KernelOperand, NativeStep } from './kernel.ts'

export const FLOATS: readonly string[] = ['TENSOR_FLOAT32', 'TENSOR_FLOAT16']
export const QUANT8: readonly string[] = ['TENSOR_QUANT8_ASYMM', 'TENSOR_QUANT8_ASYMM_SIGNED']
export const REALS: readonly string[] = [...FLOATS, ...QUANT8]
export const MOVABLE: readonly string[] = [...REALS, 'TENSOR_INT32']
export const BOOLEANS: readonly string[] = ['TENSOR_BOOL8']

export const isFloat = ({ type }: KernelOperand): boolean => FLOATS.includes(type)

/** An input of an operation: its name in messages, and the types and ranks that it may have. */
export interface InputSpec {
  readonly what: string
  readonly types: readonly string[]
  readonly ranks?: Pair
  readonly isOptional?: boolean
}

export const tensor = (what: string, types: readonly string[], least = 1, most = 6): InputSpec => ({
  what,
  types,
  ranks: [least, most],
})
export const list = (what: string): InputSpec => tensor(what, ['TENSOR_INT32'], 1, 1)
export const int = (what: string): InputSpec => ({ what, types: ['INT32'] })
export const flag = (what: string): InputSpec => ({ what, types: ['BOOL'] })

/** The inputs of one form of an operation. */
export type Form = readonly InputSpec[]

/** Returns the forms with none, the first, the first two... of optional inputs at the end, which may also lack a value. */
export const forms = (required: Form, ...optional: readonly InputSpec[]): Form[] =>
  Array.from({ length: optional.length + 1 }, (_, count) => [
    ...required,
    ...optional.slice(0, count).map((spec) => ({ ...spec, isOptional: true })),
  ])

/** A step in C of an operation, which takes the first input unless it names others. */
export interface Step extends Partial<Omit<NativeStep, 'operation'>> {
  /** The operation in C, if it has another name. */
  readonly as?: OperationName
}

/** The shape of the one output, and the step in C. */
export interface Planned extends Step {
  readonly shape: readonly number[]
}

/** The shapes of all outputs, and the steps in C. */
export interface PlannedSteps {
  readonly shapes: readonly (readonly number[])[]
  readonly steps: readonly Step[]
}

/** Defines a kernel with one output. @param accepted the forms of its inputs, or those for a number of inputs */
export function define(
  name: OperationName,
  accepted: readonly Form[] | ((inputs: number) => readonly Form[]),
  plan: (operation: Operation) => Planned,
): Entry {
  return defineMany(name, accepted, 1, (operation) => {
    const { shape, ...step } = plan(operation)
    return { shapes: [shape], steps: [step] }
  })
}

/** Defines a kernel with a number of outputs; undefined for any. */
export function defineMany(
  name: OperationName,
  accepted: readonly Form[] | ((inputs: number) => readonly Form[]),
  outputCount: number | undefined,
  plan: (operation: Operation) => PlannedSteps,
): Entry {
  const kernel: Kernel = {
    plan(inputs, outputs) {
      if (outputCount !== undefined && outputs.length !== outputCount)
        throw refused(name, `must have ${outputCount} outputs, got ${outputs.length}`)
      const choices = typeof accepted === 'function' ? accepted(inputs.length) : accepted
      const { shapes, steps } = plan(new Operation(name, inputs, outputs, choices))
      const native = steps.map(({ as = name, ...step }) => ({ operation: operationTypes[as], inputs: [0], ...step }))
      return { dimensions: shapes, native }
    },
  }
  return [name, kernel]
}

export type Entry = readonly [name: string, kernel: Kernel]

/** Two numbers: of columns and rows, or before and after an axis. */
export type Pair = readonly [number, number]

function refused(name: string, sentence: string): Error {
  return new PoolsError('INVALID_ARGUMENT', `${name} ${sentence}`)
}

/** Returns how many inputs at the start have the types of a form. */
const matching = (form: Form, inputs: readonly KernelInput[]): number => {
  const wrong = form.findIndex(({ types }, i) => !types.includes(inputs[i]!.type))
  return wrong === -1 ? form.length : wrong
}

/**
 * An operation that is being planned. The number, types and ranks of its inputs are checked at the start, because they are known
 * before the sizes and the values are.
 */
export class Operation {
  readonly name: string
  readonly inputs: readonly KernelInput[]
  readonly outputs: readonly KernelOperand[]

  constructor(
    name: string,
    inputs: readonly KernelInput[],
    outputs: readonly KernelOperand[],
    accepted: readonly Form[],
  ) {
    this.name = name
    this.inputs = inputs
    this.outputs = outputs
    const fitting = accepted.filter((form) => form.length === inputs.length)
    if (fitting.length === 0) {
      const counts = [...new Set(accepted.map((form) => form.length))].toSorted((a, b) => a - b)
      const expected = counts.length === 1 ? counted(counts[0]!, 'input') : `${counts.join(' or ')} inputs`
      throw this.refused(`must get ${expected}, got ${inputs.length}`)
    }
    const form = fitting.reduce((best, other) => (matching(other, inputs) > matching(best, inputs) ? other : best))
    form.forEach(({ what, types }, i) => this.checkType(inputs[i]!, types, `${what} (input ${i})`))
    form.forEach(({ what, ranks, isOptional }, i) => {
      const { isPresent, rank } = inputs[i]!
      if (!isPresent) {
        if (isOptional === true) return
        throw this.refused(`must get ${what} (input ${i}), got an operand without a value`)
      }
      if (ranks !== undefined && rank !== undefined) this.checkRank(rank, ranks, `${what} (input ${i})`)
    })
  }

  get output(): KernelOperand {
    return this.outputs[0]!
  }

  refused(sentence: string): Error {
    return refused(this.name, sentence)
  }

  input(index: number): KernelInput {
    return this.inputs[index]!
  }

  has(index: number): boolean {
    return this.inputs[index]?.isPresent === true
  }

  rankOf(index: number): number {
    const { rank } = this.input(index)
    return rank ?? this.input(index).dimensions.length
  }

  number(index: number): number {
    return this.input(index).numbers()[0]!
  }

  pair(first: number): Pair {
    return [this.number(first), this.number(first + 1)]
  }

  /** Returns an optional boolean, which is false by default. */
  isSet(index: number): boolean {
    return this.has(index) && this.number(index) !== 0
  }

  /** Returns the fused activation: NNAPI's FuseCode, 0 to 3. */
  activation(index: number): number {
    const code = this.number(index)
    if (code < 0 || code > 3) throw this.refused(`must get an activation from 0 to 3, got ${code}`)
    return code
  }

  /** Returns an axis of a tensor; a negative one is counted from the end. */
  axis(index: number, rank: number): number {
    return this.wrapAxis(this.number(index), rank)
  }

  wrapAxis(axis: number, rank: number): number {
    const wrapped = axis < 0 ? axis + rank : axis
    if (wrapped < 0 || wrapped >= rank) throw this.refused(`must get an axis from ${-rank} to ${rank - 1}, got ${axis}`)
    return wrapped
  }

  /** Returns a list of numbers, whose length is checked before they are read. */
  list(index: number, least: number, most: number, what: string): readonly number[] {
    const length = productOf(this.input(index).dimensions)
    if (length < least || length > most)
      throw this.refused(`must get ${what} of ${rangeText([least, most])} numbers, got ${length}`)
    return this.input(index).numbers()
  }

  checkType({ type }: KernelOperand, allowed: readonly string[], what: string): void {
    if (!allowed.includes(type)) throw this.refused(`must get ${what} of type ${allowed.join(' or ')}, got ${type}`)
  }

  checkRank(rank: number, [least, most]: Pair, what: string): void {
    if (rank < least || rank > most)
      throw this.refused(`must get ${what} of rank ${rangeText([least, most])}, got rank ${rank}`)
  }

  /** Checks that an output has the type of an input, and its scale and zero point. */
  checkSameType({ type, scale, zeroPoint }: KernelOperand, output: KernelOperand = this.output): void {
    this.checkType(output, [type], 'an output')
    if (scale === output.scale && zeroPoint === output.zeroPoint) return
    const received = `got ${output.scale} and ${output.zeroPoint}`
    throw this.refused(`must have an output of the input's scale ${scale} and zero point ${zeroPoint}, ${received}`)
  }
}

export const productOf = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1)

const rangeText = ([least, most]: Pair): string => (least === most ? `${least}` : `${least} to ${most}`)

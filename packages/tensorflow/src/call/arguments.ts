import { ArgumentError, type KernelSignature, type NativeAllocator } from '@tenon/core'
import { checkOptions, wrongType, type RunLimits } from '@tenon/core/internal'
import { isTensorList, type OperandTypes } from '../bind-operands.ts'
import type { OperationDefinition } from '../operation.ts'
import { copyAttributes, elementTypeOf, readOperand, snapshotOf, type Operand } from './operand.ts'

/** The options of a call. */
export interface TensorFlowCallOptions {
  /** The memory for results: a tensor, or tensors by name. A result of another shape is an error. */
  readonly into?: unknown
  /** The allocator of the results. */
  readonly allocator?: NativeAllocator | undefined
}

/** The operands and attributes of a call, each of which was read once. */
export interface Arguments {
  readonly operands: readonly Operand[]
  readonly types: readonly OperandTypes[]
  /** The numbers of tensors for the operands. */
  readonly counts: readonly number[]
  readonly attributes: unknown
  readonly snapshot: readonly unknown[] | undefined
  /** The options, each of which the caller may name. Their values were not checked. */
  readonly options: TensorFlowCallOptions & RunLimits
}

/**
 * Reads the arguments of a call: the operands, then the attributes if the operands do not determine all of them, then the options.
 *
 * @param known the names of the options
 * @throws {ArgumentError} if there are too many arguments, or one has another type
 */
export function readArguments(
  { name, inputs }: OperationDefinition,
  signature: KernelSignature,
  args: readonly unknown[],
  known: readonly string[],
): Arguments {
  let next = 0
  const groups = inputs.map((input): readonly Operand[] => {
    const value = args[next++]
    const place = `${input.name} of ${name}`
    if (!isTensorList(input)) return [readOperand(value, place)]
    if (!Array.isArray(value)) throw wrongType(place, 'an array of tensors', value)
    return Array.from(value as unknown[], (one, i) => readOperand(one, `${input.name}[${i}] of ${name}`))
  })
  const attributes = signature.attributes.length > 0 ? copyAttributes(args[next++]) : undefined
  const options = checkOptions(
    args[next++] as TensorFlowCallOptions & RunLimits,
    known as readonly (keyof (TensorFlowCallOptions & RunLimits))[],
    `the options of ${name}`,
  )
  if (args.length > next) throw new ArgumentError(`${name} takes at most ${next} arguments, got ${args.length}`)
  const types = groups.map((group, i) => {
    const found = group.map((operand) => elementTypeOf(operand, `${inputs[i]!.name} of ${name}`))
    return isTensorList(inputs[i]!) ? found : found[0]!
  })
  const isPlain = attributes === undefined || (typeof attributes === 'object' && attributes !== null)
  return {
    operands: groups.flat(),
    types,
    counts: groups.map(({ length }) => length),
    attributes,
    snapshot: isPlain ? snapshotOf(attributes) : undefined,
    options,
  }
}

import { ArgumentError, Tensor, TensorType } from '@tenon/core'
import { checkAlignment, describe } from '@tenon/core/internal'
import type { CallShape } from './call-target.ts'

/** What a call is prepared for. */
export interface PrepareOptions {
  /** The types of the operands, in order; a tensor stands for its type. */
  readonly operands?: readonly (TensorType | Tensor)[]
  /** The types of the results, in order; a tensor stands for its type. */
  readonly results?: readonly (TensorType | Tensor)[]
  /** What the addresses of all tensors must be a multiple of, in bytes; that of their elements without it. */
  readonly alignment?: number
}

/** The shape of a call. @throws {ArgumentError} if something is no type, or of a layout that kernels don't know. */
export function callShape(name: string, options: PrepareOptions): CallShape {
  const operands = typesOf(options.operands, `operands of ${name}`)
  const results = typesOf(options.results, `results of ${name}`)
  const alignment = options.alignment === undefined ? 1 : checkAlignment(options.alignment, 'alignment')
  return {
    name,
    // Not frozen: reading an element of a frozen array costs 5 ns more, at each tensor of each run.
    types: [...operands, ...results],
    operandCount: operands.length,
    misalignment: alignment - 1,
  }
}

function typesOf(values: unknown = [], place: string): TensorType[] {
  if (!Array.isArray(values)) throw new ArgumentError(`the ${place} must be an array of types, got ${describe(values)}`)
  return values.map((value: unknown, i) =>
    checkLayout(value instanceof Tensor ? value.type : value, `${place}: number ${i}`),
  )
}

function checkLayout(type: unknown, place: string): TensorType {
  if (!(type instanceof TensorType)) {
    throw new ArgumentError(`${place} must be the type of a tensor, got ${describe(type)}`, {
      hint: "write f32([2, 4]) or tensorType('bf16', [2, 4]).",
    })
  }
  if (type.strides !== undefined) {
    throw new ArgumentError(`${place} must be row-major, ${type} has strides [${type.strides.join(', ')}]`, {
      hint: 'XLA describes dense row-major arrays alone: copy the tensor into one.',
    })
  }
  if (type.packing === 'packed') {
    throw new ArgumentError(`${place} must have a byte for each element, ${type} is packed`, {
      hint: "make the tensor with packing: 'element': XLA gives elements of 1, 2 and 4 bits a byte each.",
    })
  }
  return type
}

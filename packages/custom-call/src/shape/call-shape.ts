import { ArgumentError, Tensor, TensorType } from '@tenon/core'
import { checkAlignment, describe } from '@tenon/core/internal'
import { checkAliases, type Alias } from './alias.ts'
import { Temp, token, type Leaf, type Token, type Tree } from './leaf.ts'

/** An operand: a type (a tensor stands for its type), a token, or a tuple of them. */
export type OperandShape = TensorType | Tensor | Token | readonly OperandShape[]

/** A result: likewise, or scratch. */
export type ResultShape = TensorType | Tensor | Token | Temp | readonly ResultShape[]

/** What a call is prepared for. */
export interface PrepareOptions {
  /** The operands, in order. */
  readonly operands?: readonly OperandShape[]
  /** The results, in order. */
  readonly results?: readonly ResultShape[]
  /** What the addresses of all tensors must be a multiple of, in bytes; that of their elements without it. */
  readonly alignment?: number
  /** Results that lie where operands do: a run must be given the same memory for both. */
  readonly aliases?: readonly Alias[]
}

/** What a call is prepared for: tensors of exactly these types. */
export interface CallShape {
  readonly name: string
  /** Of the tensors of a run: of the operands, then of the results. Types are interned and compared by identity. */
  readonly types: readonly TensorType[]
  readonly operandCount: number
  /** Addresses must have none of these bits. */
  readonly misalignment: number
  /** Where all tensors must be: the type of a device, as DLPack has them. */
  readonly deviceType: number
  readonly aliases: readonly Alias[]
  /** All buffers, in pre-order: of the operands, then of the results. */
  readonly leaves: readonly Leaf[]
  readonly operands: readonly Tree[]
  readonly results: readonly Tree[]
}

const CPU = 1

/** The shape of a call. @throws {ArgumentError} if something is no type, or of a layout that kernels don't know. */
export function callShape(name: string, options: PrepareOptions, deviceType: number = CPU): CallShape {
  if (typeof options !== 'object' || options === null) {
    throw new ArgumentError(`${name} must be prepared for its operands and results, got ${describe(options)}`, {
      hint: 'write { operands: [f32([2, 4])], results: [f32([2, 4])] }.',
    })
  }
  const leaves: Leaf[] = []
  const operands = treesOf(options.operands, leaves, `operands of ${name}`, false)
  const operandTypes = tensorsAmong(leaves)
  const results = treesOf(options.results, leaves, `results of ${name}`, true)
  const types = tensorsAmong(leaves)
  const { alignment, aliases = [] } = options
  if (deviceType !== CPU && leaves.some((leaf) => leaf instanceof Temp)) {
    throw new ArgumentError(`scratch of ${name} would be memory of the Host, which its device can't use`, {
      hint: 'give memory of the device as a result.',
    })
  }
  return {
    name,
    // Not frozen: reading an element of a frozen array costs 5 ns more, at each tensor of each run.
    types,
    operandCount: operandTypes.length,
    misalignment: alignment === undefined ? 0 : checkAlignment(alignment, 'alignment') - 1,
    deviceType,
    aliases: checkAliases(name, aliases, operandTypes, types.slice(operandTypes.length)),
    leaves,
    operands,
    results,
  }
}

/** The types among leaves. */
function tensorsAmong(leaves: readonly Leaf[]): TensorType[] {
  return leaves.filter((leaf) => leaf instanceof TensorType)
}

function treesOf(values: unknown = [], leaves: Leaf[], place: string, isResult: boolean): Tree[] {
  if (!Array.isArray(values)) throw new ArgumentError(`the ${place} must be an array of types, got ${describe(values)}`)
  const treeOf = (value: unknown, path: string): Tree => {
    if (Array.isArray(value)) return value.map((member: unknown, i) => treeOf(member, `${path}[${i}]`))
    if (isResult && value instanceof Temp) checkLayout(value.type, path)
    const isOwn = value === token || (isResult && value instanceof Temp)
    return leaves.push(isOwn ? (value as Leaf) : checkLayout(value instanceof Tensor ? value.type : value, path)) - 1
  }
  return values.map((value: unknown, i) => treeOf(value, `${place}: number ${i}`))
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

import { ArgumentError, Tensor, tensorType, TensorType } from '@tenon/core'
import { checkAlignment, checkOptions, wrongType } from '@tenon/core/internal'
import { checkAliases, type Alias } from './alias.ts'
import { checkLayoutCount, takeLayouts, typeInLayout, type Layouts } from './layouts.ts'
import { checkProgramOptions, PROGRAM_OPTIONS, type ProgramOptions } from './program-options.ts'
import { Temp, token, type Leaf, type Token, type Tree } from './leaf.ts'

/** An operand: a type, a tensor as an example of its type, a token, or a tuple of them. */
export type OperandShape = TensorType | Tensor | Token | readonly OperandShape[]

/** A result: a type, a tensor as an example of its type, a token, scratch memory, or a tuple of them. */
export type ResultShape = TensorType | Tensor | Token | Temp | readonly ResultShape[]

/** The tensors that a call is prepared for. */
export interface PrepareOptions extends ProgramOptions {
  /** The operands, in order. */
  readonly operands?: readonly OperandShape[]
  /** The results, in order. */
  readonly results?: readonly ResultShape[]
  /** The alignment of all tensors in bytes; by default the size of their elements. */
  readonly alignment?: number
  /**
   * The layouts of tensors that are not row-major, by position as in a run. A row-major operand is copied into the layout in each
   * run, and results must have their layouts. The shapes that the kernel gets stay the same.
   */
  readonly layouts?: Layouts
  /** The results that share memory with operands. A run must pass the same memory for both. */
  readonly aliases?: readonly Alias[]
  /** The names of the tensors in messages, operands before results. Default: `operand 0`, `result 0`. */
  readonly names?: readonly string[]
}

export const PREPARE_OPTIONS: readonly (keyof PrepareOptions & string)[] = [
  'operands',
  'results',
  'alignment',
  'layouts',
  'aliases',
  'names',
  ...PROGRAM_OPTIONS,
]

/** Checks the options of a prepared call. @throws {ArgumentError} */
export function checkPrepareOptions<Options extends PrepareOptions>(
  name: string,
  options: Options,
  known: readonly (keyof Options & string)[],
): Partial<Options> {
  const place = `the options of ${name}`
  if (options !== undefined) return checkOptions(options, known, place)
  throw wrongType(place, 'an object', options, 'Write { operands: [f32([2, 4])], results: [f32([2, 4])] }.')
}

export interface CallShape {
  readonly name: string
  /** The types of a run's tensors, operands before results. Types are interned and compared by identity. */
  readonly types: readonly TensorType[]
  readonly operandCount: number
  /** The sizes of the tensors in bytes; infinite for all, if one has 2 GiB or more. */
  readonly byteSizes: readonly number[]
  /** The row-major types of operands that a run may copy into their layouts, by index; undefined for a call without them. */
  readonly sources: readonly (TensorType | undefined)[] | undefined
  /** The names of the tensors; undefined for a call without names. */
  readonly names: readonly string[] | undefined
  /** The bits that must be 0 in all addresses. */
  readonly misalignment: number
  /** The type of the device of all tensors, as DLPack numbers it. */
  readonly deviceType: number
  readonly aliases: readonly Alias[]
  /** The dimensions of the tensors in words of 32 bits, for a frame that runs tensors of other sizes; otherwise none. */
  readonly dims: readonly number[]
  /** All buffers in pre-order, operands before results. */
  readonly leaves: readonly Leaf[]
  readonly operands: readonly Tree[]
  readonly results: readonly Tree[]
}

const CPU = 1

const NO_ALIASES: readonly Alias[] = Object.freeze([])

const NO_DIMS: readonly number[] = Object.freeze([])

/** Checks the tensors of a call. @throws {ArgumentError} if one is not a type, or has a layout that XLA does not have. */
export function callShape(name: string, options: PrepareOptions, deviceType: number = CPU): CallShape {
  checkProgramOptions(name, options)
  const leaves: Leaf[] = []
  const layouts = takeLayouts(name, options.layouts)
  const { names } = options
  const types: TensorType[] = []
  const operands = treesOf({ name, names, which: 'operand' }, options.operands, leaves, types, layouts.operands)
  const operandTypes = types.slice()
  const results = treesOf({ name, names, which: 'result' }, options.results, leaves, types, layouts.results)
  checkLayoutCount(name, 'operands', layouts.operands, operandTypes.length)
  checkLayoutCount(name, 'results', layouts.results, types.length - operandTypes.length)
  const { alignment, aliases } = options
  const ownTypes = types.slice()
  return {
    name,
    // Not frozen, because reading an element of a frozen array costs 5 ns more, for each tensor of each run. Copies have no room
    // to grow, which would take most of the memory of a call.
    types: ownTypes,
    operandCount: operandTypes.length,
    byteSizes: byteSizesOf(types),
    sources: deviceType === CPU ? sourcesOf(operandTypes) : undefined,
    names: checkNames(name, names, types.length),
    misalignment: alignment === undefined ? 0 : checkAlignment(alignment, 'alignment') - 1,
    deviceType,
    aliases:
      aliases === undefined ? NO_ALIASES : checkAliases(name, aliases, operandTypes, types.slice(operandTypes.length)),
    dims: NO_DIMS,
    leaves: leaves.length === types.length ? ownTypes : leaves.slice(),
    operands,
    results,
  }
}

function checkNames(name: string, names: unknown, count: number): readonly string[] | undefined {
  if (names === undefined) return undefined
  if (Array.isArray(names) && names.length === count && names.every((one) => typeof one === 'string')) return [...names]
  throw wrongType(`the names of ${name}`, `an array of ${count} strings, one for each tensor`, names)
}

/** Returns the place of a tensor in messages: `x of softmax`, or `operand 0 of softmax` for a call without names. */
export function placeOf({ name, names, operandCount }: CallShape, index: number): string {
  const place = index < operandCount ? `operand ${index}` : `result ${index - operandCount}`
  return `${names?.[index] ?? place} of ${name}`
}

/** The size at which differences of addresses do not fit into an int32. */
const HUGE = 2 ** 31

/** Returns the sizes of tensors in bytes, as {@link CallShape.byteSizes}. */
export function byteSizesOf(types: readonly TensorType[]): readonly number[] {
  const isHuge = types.some(({ byteSize }) => byteSize >= HUGE)
  return types.map(({ byteSize }) => (isHuge ? Infinity : byteSize))
}

/** The row-major types of the operands that have layouts. */
function sourcesOf(types: readonly TensorType[]): readonly (TensorType | undefined)[] | undefined {
  if (types.every(({ strides }) => strides === undefined)) return undefined
  return types.map(({ dtype, shape, strides }) => (strides === undefined ? undefined : tensorType(dtype, shape)))
}

/** The operands or the results of a call. */
interface Side {
  readonly name: string
  /** The names of all tensors of the call, which are not checked yet. */
  readonly names: unknown
  readonly which: 'operand' | 'result'
}

/** The tuples in each other at which a side is refused, because an array can contain itself. */
const DEEPEST_TUPLE = 64

/** Adds the leaves of a side and their types to those of the call. */
function treesOf(
  { name, names, which }: Side,
  values: unknown = [],
  leaves: Leaf[],
  types: TensorType[],
  layouts: readonly unknown[],
): readonly Tree[] {
  if (!Array.isArray(values)) throw wrongType(`the ${which}s of ${name}`, 'an array of types', values)
  const first = types.length
  let tensors = 0
  const add = (value: unknown, path: () => string): number => {
    const isTemp = which === 'result' && value instanceof Temp
    if (isTemp)
      checkLayout(
        value.type,
        undefined,
        () => `${path()} of ${name}`,
        () => ROW_MAJOR,
      )
    if (isTemp || value === token) return leaves.push(value as Leaf) - 1
    const own: unknown = Array.isArray(names) ? names[first + tensors] : undefined
    const place = (): string => `${typeof own === 'string' ? own : path()} of ${name}`
    const hint = (): string => {
      if (which === 'result') return ROW_MAJOR
      return typeof own === 'string' ? copyHint(name, own, values.length === 1) : COPY
    }
    const type = checkLayout(value instanceof Tensor ? value.type : value, layouts[tensors++], place, hint)
    types.push(type)
    return leaves.push(type) - 1
  }
  const treeOf = (value: unknown, path: () => string, depth: number): Tree => {
    if (!Array.isArray(value)) return add(value, path)
    if (depth === DEEPEST_TUPLE)
      throw new ArgumentError(`the ${which}s of ${name} must be nested at most ${DEEPEST_TUPLE} deep, got more`)
    return Array.from(value as unknown[], (member, i) => treeOf(member, () => `${path()}[${i}]`, depth + 1))
  }
  // A hole is not a type, which ends reading an array that claims any length.
  const trees: Tree[] = []
  for (let i = 0; i < values.length; i++) trees.push(treeOf(values[i], () => `${which} ${i}`, 0))
  return areFlat(trees) ? flatTrees(trees) : trees.slice()
}

/** Whether no operand or result of a side is a tuple. */
function areFlat(trees: readonly Tree[]): trees is readonly number[] {
  return trees.every((tree) => typeof tree === 'number')
}

/** The trees of sides without tuples, by the index of the first leaf and the number of leaves. Calls share them. */
const flat: (readonly number[])[][] = []

const MOST_SHARED = 16

/** Returns the indices of successive leaves. */
function flatTrees(trees: readonly number[]): readonly Tree[] {
  const [first = 0] = trees
  if (first > MOST_SHARED || trees.length > MOST_SHARED) return trees.slice()
  return ((flat[first] ??= [])[trees.length] ??= Object.freeze(trees.slice()))
}

const COPY = 'Copy the tensor first with contiguous().'
const ROW_MAJOR = "Pass a row-major tensor, for example tensor('f32', [2, 4])."

/** Returns the instruction to copy an operand of a kernel. */
function copyHint(name: string, operand: string, isOnly: boolean): string {
  const copy = `${operand}.contiguous()`
  return isOnly ? `Copy the tensor first: ${name}(${copy}).` : `Copy the tensor first, and pass ${copy} as ${operand}.`
}

/** Returns the type in the memory of the call. @param layout undefined for row-major. @param hint for other strides. */
function checkLayout(type: unknown, layout: unknown, place: () => string, hint: () => string): TensorType {
  if (!(type instanceof TensorType)) {
    throw wrongType(place(), 'the type of a tensor', type, "Write f32([2, 4]) or tensorType('bf16', [2, 4]).")
  }
  if (type.packing === 'packed') {
    throw new ArgumentError(`${place()} must have a byte for each element, got ${type}, which is packed`, {
      hint: "Make the tensor with packing: 'element': XLA stores elements of 1, 2 and 4 bits in a byte each.",
    })
  }
  if (layout !== undefined) return typeInLayout(type, layout, place())
  if (type.strides !== undefined) {
    throw new ArgumentError(`${place()} must be row-major, got ${type} with strides [${type.strides.join(', ')}]`, {
      hint: hint(),
      details: { path: place(), expected: 'row-major', received: String(type) },
    })
  }
  return type
}

import {
  dtypeInfo,
  tensor,
  type DType,
  type KernelSignature,
  type NativeAllocator,
  type Parameter,
  type Tensor,
} from '@tenon/core'
import { collectNames, evaluate, findDType, isGroup, NoSize } from '@tenon/core/internal'
import type { StringTensor } from '@tenon/tstring'
import { UsageError } from '../cli/usage-error.ts'
import type { Sizes } from './size-range.ts'

/** A tensor of numbers or of strings. */
export type Operand = Tensor | StringTensor

/** The operands that were read from files, by parameter. */
export type ReadOperands = readonly (readonly Operand[])[]

/** The types and sizes that determine the operands of a call. */
export interface OperandPlan {
  readonly signature: KernelSignature
  readonly sizes: Sizes
  /** The element types by the names of operands and type variables. */
  readonly dtypes: ReadonlyMap<string, DType>
  /** The attributes of the call, which can be sizes. */
  readonly attributes: Readonly<Record<string, unknown>>
  readonly read: ReadOperands
}

/** The number of tensors for an operand that takes any number of them. */
const REMAINING = 2

/**
 * Makes the operands of a kernel that are not read from files. Elements of floating-point types are random numbers from 0 to 1, the
 * same in each run, and others are 0 and 1.
 *
 * @param allocator of their memory; by default the garbage collector frees it
 * @returns the arguments of a call in order: tensors, and lists of tensors for operands of any number
 * @throws {UsageError} if a size is missing, or an operand cannot be made
 */
export function fillOperands(
  plan: OperandPlan,
  allocator?: NativeAllocator,
): (Operand | readonly Operand[] | undefined)[] {
  const { signature, read } = plan
  const operands = signature.operands.filter(({ isToken }) => !isToken)
  const sizes = sizesOf(plan, operands)
  return operands.map((operand, i) => {
    const own = read[i]!
    if (operand.kind === 'remaining')
      return own.length > 0 ? own : Array.from({ length: REMAINING }, () => make(plan, operand, sizes, allocator))
    if (own.length > 0) return own[0]
    return operand.kind === 'optional' ? undefined : make(plan, operand, sizes, allocator)
  })
}

/** The sizes of the axes by name: those of `--size`, of attributes, and of the operands that were read. */
function sizesOf(
  { signature: { name }, sizes, attributes, read }: OperandPlan,
  operands: readonly Parameter[],
): Map<string, number> {
  const known = new Map<string, number>(Object.entries(sizes))
  for (const [attribute, value] of Object.entries(attributes))
    if (typeof value === 'number' || typeof value === 'bigint') known.set(attribute, Number(value))
  operands.forEach(({ shape, name: operand }, i) => {
    const type = read[i]![0]
    if (type === undefined || shape === undefined || shape.some((one) => one !== null && isGroup(one))) return
    shape.forEach((dimension, axis) => {
      const size = type.shape[axis]
      if (typeof dimension !== 'string' || size === undefined) return
      if (Object.hasOwn(sizes, dimension) && sizes[dimension] !== size)
        throw new UsageError(
          `--size ${dimension} is ${sizes[dimension]}, but ${operand} of ${name} has the size ${size} there`,
        )
      known.set(dimension, size)
    })
  })
  return known
}

function make(
  plan: OperandPlan,
  operand: Parameter,
  sizes: ReadonlyMap<string, number>,
  allocator: NativeAllocator | undefined,
): Operand {
  const { name, stringLayout, layout, notation } = operand
  const kernel = plan.signature.name
  if (stringLayout !== undefined || layout !== undefined || notation !== undefined)
    throw new UsageError(
      `${name} of ${kernel} must be read from a file`,
      `Pass --arg ${name}=${stringLayout === undefined ? `${name}.npy` : `${name}.txt@lines`}.`,
    )
  return filledTensor(
    dtypeOf(plan, operand),
    shapeOf(plan, operand, sizes),
    allocator === undefined ? {} : { allocator },
  )
}

/** The element type of an operand: as `--type` says, otherwise float32 if that is allowed, or the first allowed one. */
function dtypeOf({ signature, dtypes }: OperandPlan, { name, variable, dtypes: allowed }: Parameter): DType {
  const chosen = dtypes.get(name) ?? (variable === undefined ? undefined : dtypes.get(variable))
  if (chosen === undefined) return allowed.length === 0 || allowed.includes('float32') ? 'float32' : allowed[0]!
  if (allowed.length === 0 || allowed.includes(chosen)) return chosen
  throw new UsageError(`--type of ${name} of ${signature.name} must be ${allowed.join(' or ')}, got ${chosen}`)
}

function shapeOf(
  { signature, sizes: stated }: OperandPlan,
  { name, shape }: Parameter,
  sizes: ReadonlyMap<string, number>,
): number[] {
  const file = `Pass --arg ${name}=${name}.npy.`
  const dimensions = shape ?? [{ group: '' }]
  return dimensions.flatMap((dimension) => {
    if (dimension === null)
      throw new UsageError(
        `${name} of ${signature.name} has an axis without a name, so it must be read from a file`,
        file,
      )
    // A group is one axis if it has a size, and otherwise empty.
    if (isGroup(dimension)) return stated[`...${dimension.group}`] ?? []
    let missing: string | undefined
    const size = evaluate(dimension, (axis) => {
      const value = sizes.get(axis)
      if (value === undefined) missing ??= axis
      return value
    })
    if (size instanceof NoSize)
      throw new UsageError(`${name} of ${signature.name} cannot have these sizes: ${size.reason}`)
    if (size === undefined)
      throw new UsageError(
        `the size ${missing} of ${signature.name} is missing`,
        `Pass --size ${missing}=1k..1M, or ${file.slice('Pass '.length)}`,
      )
    if (size >= 0) return size
    throw new UsageError(`${name} of ${signature.name} cannot have these sizes: an axis would have the size ${size}`)
  })
}

/** Makes a tensor with the numbers of a generator whose start is fixed. */
function filledTensor(
  dtype: DType,
  shape: readonly number[],
  options: { readonly allocator?: NativeAllocator },
): Tensor {
  const { kind, bits } = dtypeInfo(dtype)
  const isInteger = kind !== 'float' && kind !== 'complex'
  const next = isInteger ? randomBits() : randomFractions()
  if (kind === 'float' && bits < 32) {
    const count = shape.reduce((product, size) => product * size, 1)
    return tensor(dtype, shape, Array.from({ length: count }, next), options)
  }
  const made = tensor(dtype, shape, undefined, options)
  const elements = made.view() as ArrayLike<number | bigint> & { [index: number]: number | bigint }
  const isBig = elements instanceof BigInt64Array || elements instanceof BigUint64Array
  for (let i = 0; i < elements.length; i += 1) elements[i] = isBig ? BigInt(next()) : next()
  return made
}

const randomFractions = (): (() => number) => {
  const bits = randomWords()
  return () => bits() / 2 ** 32
}

const randomBits = (): (() => number) => {
  const bits = randomWords()
  return () => bits() & 1
}

/** Words of 32 bits, by the generator of Marsaglia, "Xorshift RNGs" (2003). */
function randomWords(): () => number {
  let state = 0x9e3779b9
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

/** Refuses sizes of axes that the operands do not have. @throws {UsageError} */
export function checkAxes(names: readonly string[], { name: kernel, operands }: KernelSignature): void {
  const known = new Set<string>()
  for (const { shape } of operands)
    for (const dimension of shape ?? [{ group: '' }]) {
      if (dimension === null) continue
      if (isGroup(dimension)) known.add(`...${dimension.group}`)
      else collectNames(dimension, known)
    }
  const unknown = names.find((name) => !known.has(name))
  if (unknown === undefined) return
  throw new UsageError(`${kernel} does not have an axis named ${unknown}`, `The axes are ${[...known].join(', ')}.`)
}

/** Reads the values of `--type`: `x=f64` for an operand, or `T=bf16` for a type variable. @throws {UsageError} */
export function parseTypes(texts: readonly string[], { name: kernel, operands }: KernelSignature): Map<string, DType> {
  const names = new Set(operands.flatMap(({ name, variable }) => (variable === undefined ? [name] : [name, variable])))
  const types = new Map<string, DType>()
  for (const text of texts) {
    const [, name, dtype] = /^(\w+)=(\w+)$/.exec(text) ?? []
    const found = dtype === undefined ? undefined : findDType(dtype)
    if (name === undefined || found === undefined)
      throw new UsageError(`--type must be name=type, such as x=f64, got ${text || 'nothing'}`)
    if (!names.has(name))
      throw new UsageError(
        `${kernel} does not have an operand or a type variable named ${name}`,
        `The names are ${[...names].join(', ')}.`,
      )
    if (types.has(name)) throw new UsageError(`--type ${name} is given more than once`)
    types.set(name, found.name)
  }
  return types
}

import { dtypeInfo, type DTypeInfo } from '../types/dtype.ts'
import { typeOf, type TensorType } from '../types/tensor-type.ts'
import { isGroup } from './dimension.ts'
import type { Dimension, KernelSignature, Parameter, SizeExpression } from './kernel-signature.ts'
import { COMPARISONS, planOf } from './resolve-call.ts'
import { compileSize, type SizeOf } from './size-expression.ts'

/**
 * Returns the types of the operands and results of a call. Undefined if the call contradicts the signature, or if only `resolveCall()`
 * can infer them.
 *
 * @param types those of the operands, and then those of the results, each of which is undefined if the caller did not pass it. They have
 * the ranks and element types for which the function was made.
 */
export type InferSizes = (types: readonly (TensorType | undefined)[]) => TensorType[] | undefined

/**
 * Makes the inference of calls that differ only in sizes. It infers what `resolveCall()` does, without anything that only messages need.
 *
 * @param types the types of one call, as those of the inferred ones. @param attributes those of all calls, as `resolveAttributes()`
 * returns them.
 * @returns undefined if only `resolveCall()` can infer the types.
 */
export function inferSizes(
  signature: KernelSignature,
  types: readonly (TensorType | undefined)[],
  attributes: Readonly<Record<string, unknown>>,
): InferSizes | undefined {
  const { operands, results, sizeAttributes } = planOf(signature)
  const tensors = [...operands, ...results.map(({ parameter }) => parameter)]
  if (signature.temps.length > 0 || types.length !== tensors.length || !tensors.every(isSimple)) return undefined
  const axes = new Axes()
  for (const name of sizeAttributes) if (attributes[name] !== undefined) axes.add(name, Number(attributes[name]))
  for (const [i, { shape }] of operands.entries()) if (!axes.read(shape!, types[i])) return undefined
  const tests = testsOf(signature, axes)
  const made = results.map(({ parameter, alias }) => planResult(parameter, alias, { operands, types, axes }))
  if (tests === undefined || made.includes(undefined)) return undefined
  return makeInference(axes, tests, made as readonly MadeResult[])
}

/** Whether a parameter is one row-major tensor whose rank is known. */
const isSimple = ({ kind, layout, shape, stringLayout }: Parameter): boolean =>
  kind === 'one' && layout === undefined && shape !== undefined && stringLayout === undefined

/** Nothing of an axis is compared. */
const ANY = -1
/** The axis is compared with a number. */
const NUMBER = -2

/** The axes of the operands, and the places of the sizes that they determine. */
class Axes {
  /** The operand of each axis, its index there, its place or {@link ANY} or {@link NUMBER}, and 1 if the axis determines the place. */
  readonly operands: number[] = []
  readonly indices: number[] = []
  readonly places: number[] = []
  readonly isFirst: boolean[] = []
  /** The number with which an axis is compared. */
  readonly numbers: number[] = []
  /** Axes that are compared with expressions. */
  readonly expressions: { readonly operand: number; readonly index: number; readonly expression: SizeExpression }[] = []
  /** The values of attributes in their places. */
  readonly initial: number[] = []
  /** The numbers of axes of the groups. */
  readonly groups = new Map<string, number>()
  /** The places of the axes of each operand; negative for those without a name. */
  readonly ofOperands: number[][] = []
  readonly #placeOf = new Map<string, number>()

  readonly placeOf = (name: string): number | undefined => this.#placeOf.get(name)

  /** Adds a name with a value, and returns its place. */
  add(name: string, value = 0): number {
    const place = this.initial.push(value) - 1
    this.#placeOf.set(name, place)
    return place
  }

  /** Reads the axes of the next operand. Returns false if it is omitted. */
  read(shape: readonly Dimension[], type: TensorType | undefined): boolean {
    if (type?.strides !== undefined || type?.packing !== 'element') return false
    const own: number[] = []
    this.ofOperands.push(own)
    const inGroup = type.shape.length - shape.filter((one) => one === null || !isGroup(one)).length
    for (const dimension of shape) {
      if (dimension === null || !isGroup(dimension)) {
        this.#readAxis(own, dimension)
        continue
      }
      this.groups.set(dimension.group, inGroup)
      for (let i = 0; i < inGroup; i++) this.#readName(own, nameIn(dimension.group, i))
    }
    return true
  }

  #readAxis(own: number[], dimension: SizeExpression | null): void {
    if (typeof dimension === 'string') return this.#readName(own, dimension)
    if (typeof dimension === 'number') this.#push(own, NUMBER, false, dimension)
    else if (dimension === null) own.push(ANY)
    else {
      this.expressions.push({ operand: this.ofOperands.length - 1, index: own.length, expression: dimension })
      own.push(ANY)
    }
  }

  #readName(own: number[], name: string): void {
    const known = this.#placeOf.get(name)
    this.#push(own, known ?? this.add(name), known === undefined, 0)
  }

  #push(own: number[], place: number, isFirst: boolean, number: number): void {
    this.operands.push(this.ofOperands.length - 1)
    this.indices.push(own.length)
    this.places.push(place)
    this.isFirst.push(isFirst)
    this.numbers.push(number)
    own.push(place)
  }
}

/** The name of an axis of a group, which no size can have. */
const nameIn = (group: string, index: number): string => `...${group}.${index}`

/** A condition on the types, and on the sizes that they determine. */
type Test = (types: readonly (TensorType | undefined)[], sizes: readonly number[]) => boolean

/** Compiles the conditions, and the axes that are compared with expressions. Undefined if a name is not known. */
function testsOf({ conditions }: KernelSignature, { expressions, placeOf }: Axes): readonly Test[] | undefined {
  const tests: Test[] = []
  for (const { comparison, left, right } of conditions) {
    const [first, second] = [compileSize(left, placeOf), compileSize(right, placeOf)]
    if (first === undefined || second === undefined) return undefined
    const compare = COMPARISONS[comparison]
    tests.push((_, sizes) => {
      const [a, b] = [first(sizes), second(sizes)]
      return !Number.isNaN(a) && !Number.isNaN(b) && compare(a, b)
    })
  }
  for (const { operand, index, expression } of expressions) {
    const value = compileSize(expression, placeOf)
    if (value === undefined) return undefined
    tests.push((types, sizes) => value(sizes) === types[operand]!.shape[index])
  }
  return tests
}

/** How the type of a result is made. */
interface MadeResult {
  readonly info: DTypeInfo
  /** The index of an operand that has the same type in each call, or -1. */
  readonly like: number
  readonly sizes: readonly SizeOf[]
}

/** The operands of the inferred calls. */
interface Operands {
  readonly operands: readonly Parameter[]
  readonly types: readonly (TensorType | undefined)[]
  readonly axes: Axes
}

/** Plans a result. Undefined if the operands do not determine its type. @param alias the operand whose memory it shares, or -1 */
function planResult(
  { dtypes, variable, shape }: Parameter,
  alias: number,
  { operands, types, axes }: Operands,
): MadeResult | undefined {
  const source = variable === undefined ? undefined : operands.findIndex((one) => one.variable === variable)
  const dtype = source === undefined ? (dtypes.length === 1 ? dtypes[0] : undefined) : types[source]?.dtype
  const dimensions = flatten(shape!, axes)
  const sizes = dimensions?.map((one) => (one === null ? undefined : compileSize(one, axes.placeOf)))
  if (dtype === undefined || sizes === undefined || sizes.includes(undefined)) return undefined
  const places = dimensions!.map((one) => (typeof one === 'string' ? axes.placeOf(one) : undefined))
  const isLike = (own: readonly number[], i: number): boolean =>
    types[i]!.dtype === dtype && own.length === places.length && own.every((place, k) => place === places[k])
  const like = axes.ofOperands.findIndex((own, i) => (alias === -1 || i === alias) && isLike(own, i))
  if (alias !== -1 && like === -1) return undefined
  return { info: dtypeInfo(dtype), like, sizes: sizes as SizeOf[] }
}

/** Replaces groups by the names of their axes. Undefined if a group is not known. */
function flatten(shape: readonly Dimension[], { groups }: Axes): (SizeExpression | null)[] | undefined {
  const flat: (SizeExpression | null)[] = []
  for (const dimension of shape) {
    if (dimension === null || !isGroup(dimension)) {
      flat.push(dimension)
      continue
    }
    const count = groups.get(dimension.group)
    if (count === undefined) return undefined
    for (let i = 0; i < count; i++) flat.push(nameIn(dimension.group, i))
  }
  return flat
}

function makeInference(
  { operands, indices, places, isFirst, numbers, initial, ofOperands }: Axes,
  tests: readonly Test[],
  made: readonly MadeResult[],
): InferSizes {
  // Written before they are read, and not read after the inference.
  const sizes = initial.slice()
  const operandCount = ofOperands.length

  const readSizes = (types: readonly (TensorType | undefined)[]): boolean => {
    for (let i = 0; i < places.length; i++) {
      const size = types[operands[i]!]!.shape[indices[i]!]!
      const place = places[i]!
      if (place === NUMBER ? size !== numbers[i] : !isFirst[i] && size !== sizes[place]) return false
      if (isFirst[i]) sizes[place] = size
    }
    for (let i = 0; i < tests.length; i++) if (!tests[i]!(types, sizes)) return false
    return true
  }

  const resultType = ({ info, like, sizes: axes }: MadeResult, types: readonly (TensorType | undefined)[]) => {
    if (like !== -1) return types[like]
    const own: number[] = []
    for (let i = 0; i < axes.length; i++) {
      const size = axes[i]!(sizes)
      if (!(size >= 0)) return undefined
      own.push(size)
    }
    try {
      return typeOf(info, own, {})
    } catch {
      // Too many elements, which resolveCall() reports.
      return undefined
    }
  }

  return (types) => {
    if (!readSizes(types)) return undefined
    const all: TensorType[] = []
    for (let i = 0; i < operandCount; i++) all.push(types[i]!)
    for (let i = 0; i < made.length; i++) {
      const type = resultType(made[i]!, types)
      const passed = types[operandCount + i]
      if (type === undefined || (passed !== undefined && passed !== type)) return undefined
      all.push(type)
    }
    return all
  }
}

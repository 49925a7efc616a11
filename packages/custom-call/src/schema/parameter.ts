import { dtypeInfo, TensorType, type DType, type ParameterKind } from '@tenon/core'
import { inspectAsText, wrongType, wrongValue } from '@tenon/core/internal'

/** The size of an axis: a number, a name that stands for the same size everywhere in a target, or null for any size. */
export type Size = number | string | null

/** A choice of element types. Parameters that share it have the same type in one call. Created by {@link oneOf}. */
export class ElementChoice {
  /** The canonical names; empty for any type. */
  readonly dtypes: readonly DType[]

  /** @internal */
  constructor(dtypes: readonly DType[]) {
    this.dtypes = dtypes
  }

  toString(): string {
    return this.dtypes.join(' | ') || 'any type'
  }
}
inspectAsText(ElementChoice)

/**
 * Returns a choice of element types. In one call, all parameters that share the choice have the same element type. Without
 * names, every element type is allowed.
 *
 * @throws {ArgumentError} if a type does not exist.
 * @example
 * const T = oneOf('f32', 'f64')
 * defineTarget('add', { operands: [param(T, ['n']), param(T, ['n'])], results: [param(T, ['n'])] })
 */
export function oneOf(...dtypes: readonly string[]): ElementChoice {
  return new ElementChoice(dtypes.map((dtype) => dtypeInfo(dtype).name))
}

/** An operand or result of a definition. Created by {@link param}, {@link optional} and {@link remaining}. */
export class DefinedParameter<Kind extends ParameterKind = ParameterKind> {
  readonly kind: Kind
  readonly choice: ElementChoice
  /** The size of each axis; undefined for any rank. */
  readonly shape: readonly Size[] | undefined

  /** @internal */
  constructor(kind: Kind, choice: ElementChoice, shape: readonly Size[] | undefined) {
    this.kind = kind
    this.choice = choice
    this.shape = shape
  }

  /** Returns the type as text, such as `float32[n, 4]`. */
  toString(): string {
    return `${this.choice}[${this.shape?.map((size) => size ?? '?').join(', ') ?? '...'}]`
  }
}
inspectAsText(DefinedParameter)

/** An operand or result of a definition: a parameter, or a type for tensors of exactly this type. */
export type ParameterSpec = DefinedParameter | TensorType

/**
 * Declares an operand or result of a target.
 *
 * @param dtype the name or alias of the element type, or a choice that parameters share.
 * @param shape the size of each axis: a number, a name, or null for any size. Default: tensors of any rank are accepted.
 * @throws {ArgumentError | ArgumentRangeError} if the type does not exist, or a size is invalid.
 * @example
 * param('f32', ['n', 4]) // any n, the same in all parameters of the target
 */
export function param(dtype: string | ElementChoice, shape?: readonly Size[]): DefinedParameter<'one'> {
  if (shape !== undefined && !Array.isArray(shape)) {
    throw wrongType('shape', 'an array of sizes', shape, "Write param('f32', ['n', 4]).")
  }
  const sizes = shape === undefined ? undefined : Object.freeze(Array.from(shape))
  sizes?.forEach(checkSizeSpec)
  return new DefinedParameter('one', dtype instanceof ElementChoice ? dtype : oneOf(dtype), sizes)
}

/**
 * Declares a parameter that can be omitted. Optional parameters must follow the required ones.
 *
 * @example
 * defineTarget('sum', { operands: [param('f32', ['n']), optional(param('f32', ['n']))], results: [param('f32', ['n'])] })
 */
export function optional(parameter: ParameterSpec): DefinedParameter<'optional'> {
  const { choice, shape } = parameterOf(parameter, 'the parameter of optional()')
  return new DefinedParameter('optional', choice, shape)
}

/**
 * Declares the last parameter, for any number of tensors. A named size is the same for all of these tensors. Use null for
 * sizes that may differ.
 *
 * @example
 * defineTarget('sum', { operands: [remaining(param('f32', ['n']))], results: [param('f32', ['n'])] })
 */
export function remaining(parameter: ParameterSpec): DefinedParameter<'remaining'> {
  const { choice, shape } = parameterOf(parameter, 'the parameter of remaining()')
  return new DefinedParameter('remaining', choice, shape)
}

/** Converts a specification to a parameter. @throws {ArgumentError} */
export function parameterOf(spec: unknown, place: string): DefinedParameter {
  if (spec instanceof DefinedParameter) return spec
  if (spec instanceof TensorType) return new DefinedParameter('one', new ElementChoice([spec.dtype]), spec.shape)
  throw wrongType(place, 'a parameter or the type of a tensor', spec, "Write param('f32', ['n', 4]) or f32([2, 4]).")
}

function checkSizeSpec(size: unknown): void {
  if (size === null || (typeof size === 'string' && /^[A-Za-z_]\w*$/.test(size))) return
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return
  throw wrongValue('a size', 'a whole number, a name or null', size)
}

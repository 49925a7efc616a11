import { ArgumentError, ArgumentRangeError, dtypeInfo, TensorType, type DType } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** The size of one axis: a number; a name, which is one size wherever it stands in a target; or null, which is any size. */
export type Size = number | string | null

/** How often a parameter is given: once, at most once, or any number of times. */
export type ParameterKind = 'one' | 'optional' | 'remaining'

/**
 * Element types of which one is chosen at each call; parameters that share it have the same one. Made by {@link oneOf}.
 */
export class ElementChoice {
  /** Canonical names; empty for any type. */
  readonly dtypes: readonly DType[]

  /** @internal */
  constructor(dtypes: readonly DType[]) {
    this.dtypes = dtypes
  }
}

/**
 * Element types of which a call has one: the same wherever the choice stands in a target. Without names, any type.
 *
 * @throws {ArgumentError} if there is no such type.
 * @example
 * const T = oneOf('f32', 'f64')
 * defineTarget('add', { operands: [param(T, ['n']), param(T, ['n'])], results: [param(T, ['n'])] })
 */
export function oneOf(...dtypes: readonly string[]): ElementChoice {
  return new ElementChoice(dtypes.map((dtype) => dtypeInfo(dtype).name))
}

/** What an operand or result of a target can be. Made by {@link param}, {@link optional} and {@link remaining}. */
export class Parameter<Kind extends ParameterKind = ParameterKind> {
  readonly kind: Kind
  readonly choice: ElementChoice
  /** Undefined for any rank. */
  readonly shape: readonly Size[] | undefined

  /** @internal */
  constructor(kind: Kind, choice: ElementChoice, shape: readonly Size[] | undefined) {
    this.kind = kind
    this.choice = choice
    this.shape = shape
  }

  /** For people: `float32[n, 4]`. */
  toString(): string {
    const dtypes = this.choice.dtypes.join(' | ') || 'any type'
    return `${dtypes}[${this.shape?.map((size) => size ?? '?').join(', ') ?? '...'}]`
  }
}

/** What stands in the operands and results of a target: a parameter, or a type for tensors of exactly this type. */
export type ParameterSpec = Parameter | TensorType

/**
 * An operand or result of a target.
 *
 * @param dtype the element type, by name or alias, or a choice that other parameters share.
 * @param shape the size of each axis: a number, a name, or null for any; without it tensors of any rank are taken.
 * @throws {ArgumentError | ArgumentRangeError} if there is no such type, or a size is none.
 * @example
 * param('f32', ['n', 4]) // any n, the same in all parameters of the target
 */
export function param(dtype: string | ElementChoice, shape?: readonly Size[]): Parameter<'one'> {
  if (shape !== undefined && !Array.isArray(shape)) {
    throw new ArgumentError(`shape must be an array of sizes, got ${describe(shape)}`, {
      hint: "write param('f32', ['n', 4]).",
    })
  }
  for (const size of shape ?? []) checkSizeSpec(size)
  const choice = dtype instanceof ElementChoice ? dtype : oneOf(dtype)
  return new Parameter('one', choice, shape === undefined ? undefined : Object.freeze([...shape]))
}

/**
 * A parameter that may be missing. Optional ones stand behind those that are not.
 *
 * @example
 * defineTarget('sum', { operands: [param('f32', ['n']), optional(param('f32', ['n']))], results: [param('f32', ['n'])] })
 */
export function optional(parameter: ParameterSpec): Parameter<'optional'> {
  const { choice, shape } = parameterOf(parameter, 'the parameter of optional()')
  return new Parameter('optional', choice, shape)
}

/**
 * A parameter that may be given any number of times, also not at all. At most one, as the last. Names of sizes that stand
 * nowhere else are still one size for all of them: write null for sizes that differ.
 *
 * @example
 * defineTarget('sum', { operands: [remaining(param('f32', ['n']))], results: [param('f32', ['n'])] })
 */
export function remaining(parameter: ParameterSpec): Parameter<'remaining'> {
  const { choice, shape } = parameterOf(parameter, 'the parameter of remaining()')
  return new Parameter('remaining', choice, shape)
}

/** The parameter that a spec stands for. @throws {ArgumentError} if it is none */
export function parameterOf(spec: unknown, place: string): Parameter {
  if (spec instanceof Parameter) return spec
  if (spec instanceof TensorType) return new Parameter('one', new ElementChoice([spec.dtype]), spec.shape)
  throw new ArgumentError(`${place} must be a parameter or the type of a tensor, got ${describe(spec)}`, {
    hint: "write param('f32', ['n', 4]) or f32([2, 4]).",
  })
}

function checkSizeSpec(size: unknown): void {
  if (size === null || (typeof size === 'string' && /^[A-Za-z_]\w*$/.test(size))) return
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return
  throw new ArgumentRangeError(`a size must be a whole number, a name or null, got ${describe(size)}`)
}

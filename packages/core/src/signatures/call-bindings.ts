import { ArgumentError } from '../errors/kinds.ts'
import { stringName } from '../strings/string-layout.ts'
import { axesOf, type TensorType } from '../types/tensor-type.ts'
import { formatShape } from './dimension.ts'
import type { Parameter, SizeExpression } from './kernel-signature.ts'
import { shapePlan, type AxisPlan } from './shape-plan.ts'
import { collectNames, evaluate, formatExpression, NoSize, solve, type LinearExpression } from './size-expression.ts'

type DType = TensorType['dtype']

/** The tensor or attribute that determined a name. */
interface Origin {
  /** The name of the tensor or of the attribute. */
  readonly place: string
  /** The axis whose size is the name; undefined for an attribute, and for an axis whose size is another expression. */
  readonly axis: number | undefined
  readonly isAttribute: boolean
}

interface Bound<Value> extends Origin {
  readonly value: Value
}

interface OpenCheck {
  readonly parameter: Parameter
  readonly type: TensorType
  readonly place: string
  readonly axis: number
  readonly expression: SizeExpression
}

/** The sizes, groups of axes and element types that the tensors and attributes of one call determine. */
export class CallBindings {
  readonly #kernel: string
  readonly #sizes = new Map<string, Bound<number>>()
  readonly #groups = new Map<string, Bound<readonly number[]>>()
  readonly #variables = new Map<string, Bound<DType>>()
  #openChecks: OpenCheck[] = []

  /** Returns the value of a name, or undefined. */
  readonly sizeOf = (name: string): number | undefined => this.#sizes.get(name)?.value

  constructor(kernel: string) {
    this.#kernel = kernel
  }

  bindAttribute(name: string, value: number): void {
    this.#sizes.set(name, { value, place: name, axis: undefined, isAttribute: true })
  }

  groupSizes(group: string): readonly number[] | undefined {
    return this.#groups.get(group)?.value
  }

  dtypeOf(variable: string): DType | undefined {
    return this.#variables.get(variable)?.value
  }

  /**
   * Checks a type against a parameter, and stores the names that it determines.
   *
   * @param place the tensor in messages: `x`, or `xs[1]`.
   * @throws {ArgumentError} if the type contradicts the parameter.
   */
  match(parameter: Parameter, type: TensorType, place: string): void {
    this.#matchElements(parameter, type, place)
    const plan = shapePlan(parameter)
    const shape = axesOf(type)
    if (plan === null) {
      this.#checkLayout(parameter, type, place)
      return
    }
    const { head, group, tail } = plan
    const least = head.length + tail.length
    if (group === undefined ? shape.length !== least : shape.length < least) {
      const wanted = group === undefined ? String(least) : `at least ${least}`
      const reason = `it has ${countOf(shape.length, 'axis', 'axes')}, not ${wanted}`
      const hint = `Pass ${place} with ${group === undefined ? '' : 'at least '}${countOf(least, 'axis', 'axes')}.`
      throw this.#mismatch(parameter, type, place, reason, hint)
    }
    this.#checkLayout(parameter, type, place)
    for (let i = 0; i < head.length; i += 1) this.#matchAxis(parameter, type, place, i, head[i]!)
    const end = shape.length - tail.length
    if (group !== undefined) this.#matchGroup(parameter, type, place, group, shape.slice(head.length, end))
    for (let i = 0; i < tail.length; i += 1) this.#matchAxis(parameter, type, place, end + i, tail[i]!)
  }

  /** Checks the axes whose names were not known when the tensor was matched. Axes with names that are still unknown are kept. */
  finish(): void {
    this.#openChecks = this.#openChecks.filter(
      ({ parameter, type, place, axis, expression }) => !this.#compare(parameter, type, place, axis, expression),
    )
  }

  #matchElements(parameter: Parameter, type: TensorType, place: string): void {
    const { dtypes, variable, stringLayout } = parameter
    const { dtype, strings } = type
    if (strings?.layout !== stringLayout) throw this.#otherStrings(parameter, type, place)
    if (dtypes.length > 0 && !dtypes.includes(dtype)) {
      const [first] = dtypes
      const wanted = dtypes.length === 1 ? first : `one of ${dtypes.join(', ')}`
      const reason = variable === undefined ? `its elements are ${dtype}, not ${wanted}` : `${variable} is ${wanted}`
      throw this.#mismatch(parameter, type, place, reason, `Pass ${place} with elements of ${dtypes.join(' or ')}.`)
    }
    if (variable === undefined) return
    const bound = this.#variables.get(variable)
    if (bound === undefined) {
      this.#variables.set(variable, { value: dtype, place, axis: undefined, isAttribute: false })
    } else if (bound.value !== dtype) {
      const reason = `${bound.place} has ${variable} = ${bound.value}, not ${dtype}`
      const other = dtypes.length === 0 || dtypes.includes(dtype) ? `, or ${bound.place} with elements of ${dtype}` : ''
      throw this.#mismatch(parameter, type, place, reason, `Pass ${place} with elements of ${bound.value}${other}.`)
    }
  }

  /** The error for strings of another layout, for strings in the place of numbers, and for numbers in the place of strings. */
  #otherStrings(parameter: Parameter, type: TensorType, place: string): ArgumentError {
    const { stringLayout } = parameter
    const { strings } = type
    if (stringLayout === undefined) {
      const hint = `Pass ${place} with numbers. The bytes of strings are words.tensor().`
      return this.#mismatch(parameter, type, place, 'its elements are strings', hint)
    }
    if (strings === undefined) {
      const hint = `Pass a string tensor: StringTensor.from(['a', 'b'], { layout: '${stringLayout}' }).`
      return this.#mismatch(parameter, type, place, `its elements are ${type.dtype}, not strings`, hint)
    }
    const reason = `its strings have the layout ${strings.layout}, not ${stringLayout}`
    return this.#mismatch(parameter, type, place, reason, `Convert the strings: words.to('${stringLayout}').`)
  }

  #checkLayout(parameter: Parameter, type: TensorType, place: string): void {
    const { layout } = parameter
    if (layout === undefined) return
    const rank = type.shape.length
    if (layout === 'cm' ? rank >= 2 : rank === layout.length) return
    const wanted = layout === 'cm' ? 'at least 2' : String(layout.length)
    const note = layout === 'cm' ? '@cm' : `@layout(${layout.join(', ')})`
    const reason = `${note} needs ${wanted} axes, not ${rank}`
    throw this.#mismatch(parameter, type, place, reason, `Pass ${place} with ${wanted} axes.`)
  }

  #matchAxis(parameter: Parameter, type: TensorType, place: string, axis: number, plan: AxisPlan): void {
    const size = axesOf(type)[axis]!
    if (plan.kind === 'linear') {
      this.#matchLinear(parameter, type, place, axis, plan.form, plan.expression)
    } else if (plan.kind === 'expression') {
      if (this.#compare(parameter, type, place, axis, plan.expression)) return
      this.#openChecks.push({ parameter, type, place, axis, expression: plan.expression })
    } else if (plan.kind === 'number' && plan.size !== size) {
      const reason = `axis ${axis} has size ${size}, not ${plan.size}`
      throw this.#mismatch(parameter, type, place, reason, `Pass ${place} with size ${plan.size} in axis ${axis}.`)
    }
  }

  #matchLinear(
    parameter: Parameter,
    type: TensorType,
    place: string,
    axis: number,
    form: LinearExpression,
    expression: SizeExpression,
  ): void {
    const { name } = form
    const size = axesOf(type)[axis]!
    if (this.#sizes.has(name)) {
      this.#compare(parameter, type, place, axis, expression)
      return
    }
    const value = solve(form, size)
    if (value === undefined) {
      const text = formatExpression(expression)
      const reason = `axis ${axis} has size ${size}, which is not ${text} for any whole number ${name} from 0`
      throw this.#mismatch(parameter, type, place, reason, `Pass ${place} with a size of ${text} in axis ${axis}.`)
    }
    const isName = typeof expression === 'string'
    this.#sizes.set(name, { value, place, axis: isName ? axis : undefined, isAttribute: false })
  }

  /** Compares an axis with an expression. Returns whether the value of the expression is known. */
  #compare(parameter: Parameter, type: TensorType, place: string, axis: number, expression: SizeExpression): boolean {
    const value = evaluate(expression, this.sizeOf)
    const size = axesOf(type)[axis]!
    if (value === size) return true
    if (value === undefined) return false
    if (value instanceof NoSize) {
      throw this.#mismatch(parameter, type, place, value.reason, this.changeHint(expression))
    }
    if (typeof expression !== 'string') {
      const reason = `${formatExpression(expression)} is ${value}, not ${size}, for ${this.valuesOf(expression)}`
      throw this.#mismatch(parameter, type, place, reason, `Pass ${place} with size ${value} in axis ${axis}.`)
    }
    const bound = this.#sizes.get(expression)!
    const owner = bound.place === place && bound.axis !== undefined ? `axis ${bound.axis}` : bound.place
    const known = bound.isAttribute ? `the attribute ${expression} is` : `${owner} has ${expression} =`
    const reason = `${known} ${value}, not ${size}`
    throw this.#mismatch(parameter, type, place, reason, sizeHint(place, axis, size, bound))
  }

  #matchGroup(parameter: Parameter, type: TensorType, place: string, group: string, sizes: readonly number[]): void {
    const bound = this.#groups.get(group)
    if (bound === undefined) {
      this.#groups.set(group, { value: sizes, place, axis: undefined, isAttribute: false })
      return
    }
    if (bound.value.length === sizes.length && bound.value.every((size, i) => size === sizes[i])) return
    const reason = `${bound.place} has ...${group} = [${bound.value.join(', ')}], not [${sizes.join(', ')}]`
    const hint = `Pass ${place} and ${bound.place} with the same axes for ...${group}, because axes are not broadcast.`
    throw this.#mismatch(parameter, type, place, reason, hint)
  }

  /** Returns the values of the names in an expression: `n = 7 and k = 2`. */
  valuesOf(...expressions: readonly SizeExpression[]): string {
    return namesIn(expressions)
      .map((name) => `${name} = ${String(this.sizeOf(name))}`)
      .join(' and ')
  }

  /** Returns an instruction to change what determines the names in expressions. */
  changeHint(...expressions: readonly SizeExpression[]): string | undefined {
    const changes = namesIn(expressions).flatMap((name) => {
      const origin = this.#sizes.get(name)
      if (origin === undefined) return []
      if (origin.isAttribute) return [`another value for the attribute ${name}`]
      return [`${origin.place} with another size${origin.axis === undefined ? '' : ` in axis ${origin.axis}`}`]
    })
    return changes.length === 0 ? undefined : `Pass ${[...new Set(changes)].join(', or ')}.`
  }

  /** Returns the error for a tensor that does not have the type of its parameter. */
  #mismatch(
    parameter: Parameter,
    type: TensorType,
    place: string,
    reason: string,
    hint: string | undefined,
  ): ArgumentError {
    return mismatch(`${place} of ${this.#kernel}`, parameterText(parameter), type, reason, hint)
  }
}

export function mismatch(
  path: string,
  expected: string,
  type: TensorType,
  reason: string,
  hint: string | undefined,
): ArgumentError {
  const received = String(type)
  return new ArgumentError(`${path} must be ${expected}, got ${received}: ${reason}`, {
    hint,
    details: { path, expected, received },
  })
}

function sizeHint(place: string, axis: number, size: number, bound: Bound<number>): string {
  const own = `${place} with size ${bound.value} in axis ${axis}`
  if (bound.isAttribute) return `Pass ${own}, or ${size} for the attribute ${bound.place}.`
  if (bound.axis === undefined) return `Pass ${own}.`
  if (bound.place === place) return `Pass ${place} with the same size in axes ${bound.axis} and ${axis}.`
  return `Pass ${own}, or ${bound.place} with size ${size} in axis ${bound.axis}.`
}

function namesIn(expressions: readonly SizeExpression[]): string[] {
  const names = new Set<string>()
  for (const expression of expressions) collectNames(expression, names)
  return [...names]
}

/** Returns `1 axis` or `2 axes`. */
export function countOf(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Returns the type of a parameter as messages show it: `T[..., k, n]`. */
export function parameterText({ dtypes, variable, shape, stringLayout }: Parameter): string {
  if (stringLayout !== undefined) return `${stringName(stringLayout)}[${formatShape(shape)}]`
  return `${variable ?? (dtypes.join(' | ') || 'any')}[${formatShape(shape)}]`
}

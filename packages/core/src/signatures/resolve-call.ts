import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { stringType } from '../types/string-type.ts'
import { tensorType, TensorType } from '../types/tensor-type.ts'
import { CallBindings, countOf, mismatch, parameterText } from './call-bindings.ts'
import { isSizeType } from './check-signature.ts'
import { isGroup } from './dimension.ts'
import type { Comparison, Condition, KernelSignature, Parameter, SizeExpression } from './kernel-signature.ts'
import { collectNames, evaluate, formatExpression, NoSize } from './size-expression.ts'

/** The type of a tensor for one parameter, undefined for an omitted one, or an array for a parameter with `...`. */
export type CallType = TensorType | readonly TensorType[] | undefined

/** The types and attributes of one call. */
export interface CallTypes {
  /** One entry for each operand that is not a token. */
  readonly operands: readonly CallType[]
  /** The attributes that {@link resolveAttributes} returned. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** One entry for each result that is not a token: its type if the caller passed it. */
  readonly results?: readonly CallType[] | undefined
}

/** The types that a call allocates and passes. */
export interface ResolvedCall {
  /** The types of the results in order, without tokens and without optional results that were not given. */
  readonly results: TensorType[]
  readonly temps: TensorType[]
}

/**
 * Checks the types and attributes of a call against a signature, and infers the types of results and temporaries.
 *
 * @throws {ArgumentError} with the tensor or attribute that contradicts the signature, and the reason.
 */
export function resolveCall(signature: KernelSignature, call: CallTypes): ResolvedCall {
  const { name, conditions, temps } = signature
  const { operands, results, sizeAttributes } = planOf(signature)
  const bindings = new CallBindings(name)
  if (sizeAttributes.length > 0) bindAttributes(name, sizeAttributes, call.attributes, bindings)
  checkCount(name, operands, call.operands)
  matchAll(bindings, operands, call.operands)
  bindings.finish()
  const open: Condition[] = []
  for (const condition of conditions) if (!checkCondition(name, condition, bindings)) open.push(condition)
  const given: (readonly TensorType[] | undefined)[] = []
  if (call.results !== undefined) {
    for (const [i, { parameter, alias }] of results.entries()) {
      given.push(matchResult(name, parameter, call.results[i], call.operands[alias], bindings))
    }
    bindings.finish()
    for (const condition of open) checkCondition(name, condition, bindings)
  }
  // Given results can determine the sizes of an operand that was omitted, so the others are inferred after them.
  const made: TensorType[] = []
  for (const [i, { parameter, alias }] of results.entries()) {
    const types = given[i]
    if (types !== undefined) for (const type of types) made.push(type)
    else if (parameter.kind === 'one') made.push(inferType(name, parameter, bindings, call.operands[alias]))
  }
  return { results: made, temps: temps.map((parameter) => inferType(name, parameter, bindings, undefined)) }
}

/** The parts of a signature that all of its calls use. */
export interface SignaturePlan {
  /** The operands that are not tokens. */
  readonly operands: readonly Parameter[]
  /** The results that are not tokens, each with the index of the operand that it shares its memory with, or -1. */
  readonly results: readonly { readonly parameter: Parameter; readonly alias: number }[]
  /** The names of the integer attributes that are sizes. */
  readonly sizeAttributes: readonly string[]
}

const plans = new WeakMap<KernelSignature, SignaturePlan>()

/** Returns the plan of a signature, which is made once. */
export function planOf(signature: KernelSignature): SignaturePlan {
  let plan = plans.get(signature)
  if (plan === undefined) {
    const operands = signature.operands.filter(({ isToken }) => !isToken)
    const results = signature.results
      .filter(({ isToken }) => !isToken)
      .map((parameter) => ({ parameter, alias: operands.findIndex(({ name }) => name === parameter.alias) }))
    plan = { operands, results, sizeAttributes: sizeAttributesOf(signature) }
    plans.set(signature, plan)
  }
  return plan
}

/** Checks the types that a caller gives for a result. Returns undefined if the caller gives none. */
function matchResult(
  kernel: string,
  parameter: Parameter,
  given: CallType,
  aliased: CallType,
  bindings: CallBindings,
): readonly TensorType[] | undefined {
  if (given === undefined) return undefined
  const types = matchOne(bindings, parameter, given)
  const other = aliased === undefined ? undefined : types.find((type) => type !== aliased)
  if (!(aliased instanceof TensorType) || other === undefined) return types
  const alias = parameter.alias!
  const isLayout = String(aliased) === String(other)
  const reason = `it shares the memory of ${alias}${isLayout ? ', and their strides differ' : ''}`
  throw mismatch(`${parameter.name} of ${kernel}`, String(aliased), other, reason, `Pass ${alias} itself.`)
}

function sizeAttributesOf(signature: KernelSignature): readonly string[] {
  const { operands, results, temps, conditions, attributes } = signature
  const names = new Set<string>()
  for (const { shape } of [...operands, ...results, ...temps]) {
    for (const size of shape ?? []) if (size !== null && !isGroup(size)) collectNames(size, names)
  }
  for (const { left, right } of conditions) {
    collectNames(left, names)
    collectNames(right, names)
  }
  return attributes.filter(({ type, name }) => isSizeType(type) && names.has(name)).map(({ name }) => name)
}

function bindAttributes(
  kernel: string,
  names: readonly string[],
  values: CallTypes['attributes'],
  bindings: CallBindings,
): void {
  for (const name of names) {
    const value = values[name]
    if (value === undefined) continue
    const size = Number(value)
    if (!Number.isSafeInteger(size)) {
      const path = `${name} of ${kernel}`
      const expected = 'at most 2^53 - 1 in magnitude'
      throw new ArgumentRangeError(`${path} must be ${expected}, because it is a size, got ${String(value)}`, {
        hint: `Pass a smaller value for the attribute ${name}.`,
        details: { path, expected, received: String(value) },
      })
    }
    bindings.bindAttribute(name, size)
  }
}

function checkCount(kernel: string, parameters: readonly Parameter[], given: readonly CallType[]): void {
  const required = parameters.filter(({ kind }) => kind === 'one').length
  let count = 0
  let omitted: Parameter | undefined
  for (const [i, parameter] of parameters.entries()) {
    const type = given[i]
    if (type === undefined || (Array.isArray(type) && type.length === 0)) {
      if (parameter.kind !== 'remaining') omitted ??= parameter
    } else {
      if (omitted !== undefined && omitted.kind === 'optional') throw gap(kernel, omitted, parameter)
      count += Array.isArray(type) ? type.length : 1
    }
  }
  if (given.length > parameters.length) count += given.length - parameters.length
  else if (omitted?.kind !== 'one') return
  const last = parameters.at(-1)
  const most = last?.kind === 'remaining' ? Infinity : parameters.length
  const expected =
    required === most ? String(required) : most === Infinity ? `at least ${required}` : `${required} to ${most}`
  const names = parameters.map(({ kind, name }) => (kind === 'remaining' ? `...${name}` : name)).join(', ')
  const list = names === '' ? '' : ` (${names})`
  const isOne = required === 1 && (most === 1 || most === Infinity)
  throw new ArgumentError(`${kernel} takes ${expected} ${isOne ? 'operand' : 'operands'}${list}, got ${count}`, {
    hint:
      omitted?.kind === 'one'
        ? `Pass ${omitted.name}, which is ${parameterText(omitted)}.`
        : most === 0
          ? `Call ${kernel} without operands.`
          : most === Infinity
            ? `Pass the tensors of ${last!.name} in one array.`
            : `Pass at most ${countOf(most, 'operand', 'operands')}.`,
    details: { path: `operands of ${kernel}`, expected, received: count },
  })
}

function gap(kernel: string, omitted: Parameter, given: Parameter): ArgumentError {
  const path = `${omitted.name} of ${kernel}`
  const expected = parameterText(omitted)
  return new ArgumentError(`${path} must be given, because ${given.name} is given`, {
    hint: `Pass ${omitted.name}, which is ${expected}, or omit ${given.name}: only operands at the end can be omitted.`,
    details: { path, expected, received: undefined },
  })
}

function matchAll(bindings: CallBindings, parameters: readonly Parameter[], types: readonly CallType[]): void {
  for (let i = 0; i < parameters.length; i += 1) {
    const type = types[i]
    if (type !== undefined) matchOne(bindings, parameters[i]!, type)
  }
}

/** Matches the types for one parameter, and returns them. */
function matchOne(
  bindings: CallBindings,
  parameter: Parameter,
  type: TensorType | readonly TensorType[],
): readonly TensorType[] {
  if (!('length' in type)) {
    bindings.match(parameter, type, parameter.name)
    return [type]
  }
  for (let i = 0; i < type.length; i += 1) bindings.match(parameter, type[i]!, `${parameter.name}[${i}]`)
  return type
}

/** The functions of the comparisons. */
export const COMPARISONS: Readonly<Record<Comparison, (left: number, right: number) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** Checks a condition. Returns false if the condition has a size of an operand that was omitted, and is not checked. */
function checkCondition(kernel: string, { comparison, left, right }: Condition, bindings: CallBindings): boolean {
  const values = [evaluate(left, bindings.sizeOf), evaluate(right, bindings.sizeOf)] as const
  if (values.includes(undefined)) return false
  const [first, second] = values
  const isNumber = typeof first === 'number' && typeof second === 'number'
  if (isNumber && COMPARISONS[comparison](first, second)) return true
  const expected = `${formatExpression(left)} ${comparison} ${formatExpression(right)}`
  let received = bindings.valuesOf(left, right)
  if (received === '') received = `${String(first)} and ${String(second)}`
  const problem = values.find((value) => value instanceof NoSize)
  const because = problem === undefined ? '' : `: ${problem.reason}`
  throw new ArgumentError(`${kernel} requires ${expected}, got ${received}${because}`, {
    hint: bindings.changeHint(left, right),
    details: { path: kernel, expected, received },
  })
}

/** Infers the type of a result or temporary. @throws {ArgumentError} if the operands do not determine the type. */
function inferType(kernel: string, parameter: Parameter, bindings: CallBindings, aliased: CallType): TensorType {
  if (aliased instanceof TensorType) {
    bindings.match(parameter, aliased, parameter.name)
    return aliased
  }
  const { dtypes, variable, shape } = parameter
  const bound = variable === undefined ? undefined : bindings.dtypeOf(variable)
  const dtype = bound ?? (dtypes.length === 1 ? dtypes[0] : undefined)
  if (dtype === undefined) throw notInferred(kernel, parameter, 'the element type')
  if (shape === undefined) throw notInferred(kernel, parameter, 'the number of axes')
  const sizes: number[] = []
  for (const size of shape) {
    if (size === null) throw notInferred(kernel, parameter, `the size of axis ${sizes.length}`)
    if (isGroup(size)) {
      const group = bindings.groupSizes(size.group)
      if (group === undefined) throw notInferred(kernel, parameter, `...${size.group}`)
      for (const axis of group) sizes.push(axis)
      continue
    }
    const value = evaluate(size, bindings.sizeOf)
    if (value === undefined) throw notInferred(kernel, parameter, formatExpression(size))
    if (value instanceof NoSize || value < 0) {
      const path = `${parameter.name} of ${kernel}`
      const expected = parameterText(parameter)
      const received = bindings.valuesOf(size) || formatExpression(size)
      const reason =
        value instanceof NoSize
          ? value.reason
          : `${formatExpression(size)} is ${value}, which is not a whole number from 0`
      throw new ArgumentRangeError(`${path} must be ${expected}, got ${received}: ${reason}`, {
        hint: bindings.changeHint(size),
        details: { path, expected, received },
      })
    }
    sizes.push(value)
  }
  return typeOf(kernel, parameter, dtype, sizes, bindings)
}

function typeOf(
  kernel: string,
  { name, shape = [], stringLayout }: Parameter,
  dtype: string,
  sizes: readonly number[],
  bindings: CallBindings,
): TensorType {
  try {
    return stringLayout === undefined ? tensorType(dtype, sizes) : stringType(stringLayout, sizes)
  } catch (cause) {
    const path = `${name} of ${kernel}`
    const received = `${dtype}[${sizes.join(', ')}]`
    throw new ArgumentRangeError(`${path} must have at most 2^53 - 1 bytes, got ${received}`, {
      hint: bindings.changeHint(...shape.filter((size): size is SizeExpression => size !== null && !isGroup(size))),
      details: { path, expected: 'at most 2^53 - 1 bytes', received },
      cause,
    })
  }
}

function notInferred(kernel: string, parameter: Parameter, what: string): ArgumentError {
  const path = `${parameter.name} of ${kernel}`
  const expected = parameterText(parameter)
  return new ArgumentError(`${path} must be given, because the call does not determine ${what} in ${expected}`, {
    hint: 'Pass a tensor for the result with into, or its type with results.',
    details: { path, expected, received: undefined },
  })
}

import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { tensorType, type TensorType } from '../types/tensor-type.ts'
import { CallBindings, countOf, mismatch, parameterText, typeText } from './call-bindings.ts'
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
  const bindings = new CallBindings(name)
  bindAttributes(signature, call.attributes, bindings)
  const operands = signature.operands.filter(({ isToken }) => !isToken)
  checkCount(name, operands, call.operands)
  matchAll(bindings, operands, call.operands)
  bindings.finish()
  for (const condition of conditions) checkCondition(name, condition, bindings)
  const results: TensorType[] = []
  let index = 0
  for (const parameter of signature.results) {
    if (parameter.isToken) continue
    const given = call.results?.[index++]
    const aliased = aliasedType(parameter, operands, call.operands)
    if (given === undefined) {
      if (parameter.kind === 'one') results.push(inferType(name, parameter, bindings, aliased))
      continue
    }
    for (const type of matchOne(bindings, parameter, given)) {
      if (aliased !== undefined && type !== aliased) {
        const alias = parameter.alias!
        const isLayout = typeText(aliased) === typeText(type)
        const reason = `it shares the memory of ${alias}${isLayout ? ', and their strides differ' : ''}`
        throw mismatch(`${parameter.name} of ${name}`, typeText(aliased), type, reason, `Pass ${alias} itself.`)
      }
      results.push(type)
    }
  }
  bindings.finish()
  return { results, temps: temps.map((parameter) => inferType(name, parameter, bindings, undefined)) }
}

const usedAttributes = new WeakMap<KernelSignature, readonly string[]>()

/** Returns the names of the integer attributes that are sizes of the signature. */
function sizeAttributes(signature: KernelSignature): readonly string[] {
  const known = usedAttributes.get(signature)
  if (known !== undefined) return known
  const { operands, results, temps, conditions, attributes } = signature
  const names = new Set<string>()
  for (const { shape } of [...operands, ...results, ...temps]) {
    for (const size of shape ?? []) if (size !== null && !isGroup(size)) collectNames(size, names)
  }
  for (const { left, right } of conditions) {
    collectNames(left, names)
    collectNames(right, names)
  }
  const used = attributes.filter(({ type, name }) => isSizeType(type) && names.has(name)).map(({ name }) => name)
  usedAttributes.set(signature, used)
  return used
}

function bindAttributes(signature: KernelSignature, values: CallTypes['attributes'], bindings: CallBindings): void {
  for (const name of sizeAttributes(signature)) {
    const value = values[name]
    if (value === undefined) continue
    const size = Number(value)
    if (!Number.isSafeInteger(size)) {
      const path = `${name} of ${signature.name}`
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

function aliasedType(
  { alias }: Parameter,
  operands: readonly Parameter[],
  types: readonly CallType[],
): TensorType | undefined {
  if (alias === undefined) return undefined
  return types[operands.findIndex(({ name }) => name === alias)] as TensorType
}

const COMPARISONS: Readonly<Record<Comparison, (left: number, right: number) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** Checks a condition. Conditions with the sizes of operands that were omitted are ignored. */
function checkCondition(kernel: string, { comparison, left, right }: Condition, bindings: CallBindings): void {
  const values = [evaluate(left, bindings.sizeOf), evaluate(right, bindings.sizeOf)] as const
  if (values.includes(undefined)) return
  const [first, second] = values
  const isNumber = typeof first === 'number' && typeof second === 'number'
  if (isNumber && COMPARISONS[comparison](first, second)) return
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
function inferType(
  kernel: string,
  parameter: Parameter,
  bindings: CallBindings,
  aliased: TensorType | undefined,
): TensorType {
  if (aliased !== undefined) {
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
  { name, shape = [] }: Parameter,
  dtype: string,
  sizes: readonly number[],
  bindings: CallBindings,
): TensorType {
  try {
    return tensorType(dtype, sizes)
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

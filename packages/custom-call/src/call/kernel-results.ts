import { ArgumentError, TensorType, type Parameter, type Tensor } from '@tenon/core'
import { isPlainObject, isRevoked, isStringTensor, parameterText, wrongType } from '@tenon/core/internal'
import { checkKnownNames, hasStrings, type Grouped } from './kernel-parameters.ts'
import { isTensor, ownTensor, refuseTensor } from './operand-list.ts'

/** The tensor or type of the only result, or those of several results by name. Results with `...` have arrays. */
export type KernelResults<Value> = Value | { readonly [name: string]: Value | readonly Value[] | undefined }

/**
 * Reads the results of a kernel that the caller passed.
 *
 * @param parameters the results that are not tokens.
 * @param into tensors. @param types tensors or types of results that are not in `into`.
 * @returns a place for each parameter; `undefined` for a result that the call infers or omits.
 * @throws {ArgumentError} with the result that is unknown, or is not a tensor.
 */
export function readResults(
  kernel: string,
  parameters: readonly Parameter[],
  into: unknown,
  types: unknown,
): Grouped<Tensor | TensorType> {
  const tensors = readEach(kernel, parameters, into, 'into')
  const others = readEach(kernel, parameters, types, 'results')
  const results = tensors.map((one, i) => one ?? others[i])
  refuseGap(kernel, parameters, results)
  return results
}

/** Refuses a result behind an optional one that is omitted: the kernel would take one for the other. @throws {ArgumentError} */
function refuseGap(kernel: string, parameters: readonly Parameter[], results: Grouped<unknown>): void {
  const omitted = parameters.findIndex(({ kind }, i) => kind === 'optional' && results[i] === undefined)
  if (omitted === -1) return
  const next = parameters.findIndex(({ kind }, i) => {
    const one = results[i]
    return i > omitted && (kind === 'one' || (Array.isArray(one) ? one.length > 0 : one !== undefined))
  })
  if (next === -1) return
  const [{ name }, { name: behind }] = [parameters[omitted]!, parameters[next]!]
  throw new ArgumentError(`${name} of ${kernel} must be given, because ${behind} is given`, {
    hint: `Pass ${name} too, or omit ${behind}: only results at the end can be omitted.`,
    details: { path: `${name} of ${kernel}`, expected: parameterText(parameters[omitted]!), received: undefined },
  })
}

function readEach(
  kernel: string,
  parameters: readonly Parameter[],
  given: unknown,
  option: 'into' | 'results',
): Grouped<Tensor | TensorType> {
  if (given === undefined) return parameters.map(() => undefined)
  const expected = option === 'into' ? 'a tensor' : 'a tensor or a type'
  const check = (one: unknown, place: string): Tensor | TensorType => {
    const value = ownTensor(one, place)
    if (isTensor(value) || (option === 'results' && value instanceof TensorType)) return value
    return refuseTensor(value, place, expected)
  }
  const [first] = parameters
  if (first === undefined) throw new ArgumentError(`${option} must not be given to ${kernel}, which has no results`)
  const place = `${option} of ${kernel}`
  const values = isNamed(given, parameters) ? given : ownTensor(given, place)
  if (isTensor(values) || (!isRevoked(values) && values instanceof TensorType)) {
    refuseStrings(first, kernel, option)
    if (parameters.length === 1 && first.kind !== 'remaining') return [check(values, `${first.name} of ${kernel}`)]
    throw wrongType(place, 'an object of tensors by the names of the results', values, byName(option, parameters))
  }
  if (parameters.length === 1 && isStringTensor(values)) refuseStrings(first, kernel, option)
  if (!isPlainObject(values))
    throw wrongType(place, `${expected}, or an object by the names of the results`, values, byName(option, parameters))
  const known = parameters.map(({ name }) => name)
  checkKnownNames(kernel, 'result', values, known)
  return parameters.map((parameter) => {
    const { name, kind } = parameter
    const value: unknown = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined) return undefined
    refuseStrings(parameter, kernel, option)
    if (kind !== 'remaining') return check(value, `${name} of ${kernel}`)
    if (!Array.isArray(value)) throw wrongType(`${name} of ${kernel}`, 'an array of tensors', value)
    return Array.from(value as unknown[], (one, i) => check(one, `${name}[${i}] of ${kernel}`))
  })
}

/** Whether a value is an object by the names of results. It is not read as a tensor of another library then. */
const isNamed = (value: unknown, parameters: readonly Parameter[]): boolean =>
  isPlainObject(value) && parameters.some(({ name }) => Object.hasOwn(value, name))

/** @throws {ArgumentError} for a result of strings, whose memory is allocated after the call, when their size is known. */
function refuseStrings(parameter: Parameter, kernel: string, option: string): void {
  if (!hasStrings(parameter)) return
  const place = `${parameter.name} of ${kernel}`
  throw new ArgumentError(`${place} must not be given with ${option}, because the size of its strings is not known`, {
    hint: 'Leave it out. The option allocator selects the memory of the strings that the call returns.',
    details: { path: place, expected: parameterText(parameter) },
  })
}

function byName(option: 'into' | 'results', parameters: readonly Parameter[]): string {
  const value = option === 'into' ? 'tensor' : 'f32([2, 4])'
  if (parameters.length === 1) return `Write ${option}: ${value}, or ${option}: { ${parameters[0]!.name}: ${value} }.`
  return `Write ${option}: { ${parameters.map(({ name }) => `${name}: ${value}`).join(', ')} }.`
}

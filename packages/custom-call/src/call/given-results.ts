import { ArgumentError, TensorType, type Parameter, type Tensor } from '@tenon/core'
import { isPlainObject, isRevoked, parameterText, wrongType } from '@tenon/core/internal'
import type { Grouped } from './grouped.ts'
import { checkKnownNames } from './known-names.ts'
import { isTensor, refuseTensor } from './taken.ts'

/** The tensor or type of the only result, or those of several results by name. Results with `...` have arrays. */
export type GivenResults<Value> = Value | { readonly [name: string]: Value | readonly Value[] | undefined }

/**
 * Takes the results of a kernel that the caller passed, each of which is read once.
 *
 * @param parameters the results that are not tokens.
 * @param into tensors. @param types tensors or types of results that are not in `into`.
 * @returns a place for each parameter; `undefined` for a result that the call infers or omits.
 * @throws {ArgumentError} with the result that is unknown, or is not a tensor.
 */
export function takeResults(
  kernel: string,
  parameters: readonly Parameter[],
  into: unknown,
  types: unknown,
): Grouped<Tensor | TensorType> {
  const tensors = takeEach(kernel, parameters, into, 'into')
  const others = takeEach(kernel, parameters, types, 'results')
  const given = tensors.map((one, i) => one ?? others[i])
  refuseGap(kernel, parameters, given)
  return given
}

/** Refuses a result behind an optional one that is omitted: the kernel would take one for the other. @throws {ArgumentError} */
function refuseGap(kernel: string, parameters: readonly Parameter[], given: Grouped<unknown>): void {
  const omitted = parameters.findIndex(({ kind }, i) => kind === 'optional' && given[i] === undefined)
  if (omitted === -1) return
  const next = parameters.findIndex(({ kind }, i) => {
    const one = given[i]
    return i > omitted && (kind === 'one' || (Array.isArray(one) ? one.length > 0 : one !== undefined))
  })
  if (next === -1) return
  const [{ name }, { name: behind }] = [parameters[omitted]!, parameters[next]!]
  throw new ArgumentError(`${name} of ${kernel} must be given, because ${behind} is given`, {
    hint: `Pass ${name} too, or omit ${behind}: only results at the end can be omitted.`,
    details: { path: `${name} of ${kernel}`, expected: parameterText(parameters[omitted]!), received: undefined },
  })
}

function takeEach(
  kernel: string,
  parameters: readonly Parameter[],
  given: unknown,
  option: 'into' | 'results',
): Grouped<Tensor | TensorType> {
  if (given === undefined) return parameters.map(() => undefined)
  const expected = option === 'into' ? 'a tensor' : 'a tensor or a type'
  const take = (value: unknown, place: string): Tensor | TensorType => {
    if (isTensor(value) || (option === 'results' && value instanceof TensorType)) return value
    return refuseTensor(value, place, expected)
  }
  const [first] = parameters
  if (first === undefined) throw new ArgumentError(`${option} must not be given to ${kernel}, which has no results`)
  const place = `${option} of ${kernel}`
  if (isTensor(given) || (!isRevoked(given) && given instanceof TensorType)) {
    if (parameters.length === 1 && first.kind !== 'remaining') return [take(given, `${first.name} of ${kernel}`)]
    throw wrongType(place, 'an object of tensors by the names of the results', given, byName(option, parameters))
  }
  if (!isPlainObject(given))
    throw wrongType(place, `${expected}, or an object by the names of the results`, given, byName(option, parameters))
  const known = parameters.map(({ name }) => name)
  checkKnownNames(kernel, 'result', given, known)
  return parameters.map(({ name, kind }) => {
    const value: unknown = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined) return undefined
    if (kind !== 'remaining') return take(value, `${name} of ${kernel}`)
    if (!Array.isArray(value)) throw wrongType(`${name} of ${kernel}`, 'an array of tensors', value)
    return Array.from(value as unknown[], (one, i) => take(one, `${name}[${i}] of ${kernel}`))
  })
}

function byName(option: 'into' | 'results', parameters: readonly Parameter[]): string {
  const value = option === 'into' ? 'tensor' : 'f32([2, 4])'
  if (parameters.length === 1) return `Write ${option}: ${value}, or ${option}: { ${parameters[0]!.name}: ${value} }.`
  return `Write ${option}: { ${parameters.map(({ name }) => `${name}: ${value}`).join(', ')} }.`
}

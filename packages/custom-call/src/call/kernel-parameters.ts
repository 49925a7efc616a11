import { ArgumentError, type KernelSignature, type Parameter } from '@tenon/core'
import { didYouMean, exampleOf } from '@tenon/core/internal'

/** The parameters that callers pass or receive. */
export function withoutTokens(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.filter(({ isToken }) => !isToken)
}

/** Whether the elements of a parameter are strings. */
export const hasStrings = ({ stringLayout }: Parameter): boolean => stringLayout !== undefined

/** The tensors of a call by parameter: undefined for one that is omitted, an array for the rest parameter. */
export type Grouped<Value> = readonly (Value | readonly Value[] | undefined)[]

/**
 * Distributes tensors over parameters: the required ones first, then the optional ones, then the rest. The last group has the
 * tensors that are left over.
 */
export function group<Value>(parameters: readonly Parameter[], values: readonly Value[]): Grouped<Value> {
  let next = 0
  const grouped = parameters.map(({ kind }): Value | readonly Value[] | undefined => {
    if (kind === 'remaining') return values.slice(next, (next = values.length))
    return next < values.length ? values[next++] : undefined
  })
  return next < values.length ? [...grouped, ...values.slice(next)] : grouped
}

/** Refuses the names of operands or results that a kernel does not have. @throws {ArgumentError} */
export function checkKnownNames(
  kernel: string,
  which: 'operand' | 'result',
  values: object,
  known: readonly string[],
): void {
  for (const name in values) {
    if (known.includes(name)) continue
    throw new ArgumentError(`${kernel} does not have ${which === 'operand' ? 'an' : 'a'} ${which} named ${name}`, {
      hint: didYouMean(name.slice(0, 255), known) ?? `The ${which}s are ${known.join(', ')}.`,
      details: { path: `the ${which}s of ${kernel}`, expected: known, received: name },
    })
  }
}

/** Returns the instruction to pass attributes: `softmax(x, { temperature: 0.5 })`. */
export function attributesHint({ name, operands, attributes }: KernelSignature): string {
  const first = attributes.find(({ isOptional }) => !isOptional) ?? attributes[0]
  const values = first === undefined ? '{}' : `{ ${first.name}: ${exampleOf(first.type)} }`
  return `Write ${name}(${[...requiredNames(operands), values].join(', ')}).`
}

/** Returns the instruction to prepare a call: `softmax.prepare([x])`. */
export function prepareHint({ name, operands }: KernelSignature): string {
  return `Write ${name}.prepare([${requiredNames(operands).join(', ')}]).`
}

function requiredNames(operands: readonly Parameter[]): string[] {
  return operands.filter(({ kind, isToken }) => kind === 'one' && !isToken).map(({ name }) => name)
}

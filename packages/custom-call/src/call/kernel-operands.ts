import type { KernelSignature, Parameter, Tensor } from '@tenon/core'
import { isStringTensor, parameterText, readStrings, wrongType } from '@tenon/core/internal'
import { hasStrings, type Grouped } from './kernel-parameters.ts'
import { kernelShape } from './kernel-shape.ts'
import { isTensor, MAKE_TENSORS, ownTensor, refuseTensor } from './operand-list.ts'

/** The operands among the arguments of a call. */
export interface KernelOperands {
  readonly tensors: readonly Tensor[]
  /** The index of the first argument behind the operands. */
  readonly next: number
}

/**
 * Reads the operands of a kernel from the arguments of a call: tensors, `undefined` for an optional one that is omitted, and an
 * array for the rest operand.
 *
 * @param parameters the operands that are not tokens.
 * @throws {ArgumentError} with the operand that is missing or is not a tensor.
 */
export function readOperands(
  signature: KernelSignature,
  parameters: readonly Parameter[],
  args: readonly unknown[],
): KernelOperands {
  const groups: (Tensor | readonly Tensor[] | undefined)[] = []
  let next = 0
  for (const parameter of parameters) {
    const { name, kind } = parameter
    const place = `${name} of ${signature.name}`
    const value = Array.isArray(args[next]) ? args[next] : ownTensor(args[next], place)
    if (kind === 'remaining' && Array.isArray(value)) {
      groups.push(
        Array.from(value as unknown[], (one, i) => checkOperand(one, parameter, `${name}[${i}] of ${signature.name}`)),
      )
      next++
    } else if (kind === 'remaining' && isOperand(value, parameter)) {
      const hint = `Pass the tensors in one array: ${signature.name}(${[...groups.map((_, i) => parameters[i]!.name), '[a, b]'].join(', ')}).`
      throw wrongType(place, `an array of tensors of ${parameterText(parameter)}`, value, hint)
    } else if (kind === 'one' ? next < args.length : isOperand(value, parameter)) {
      groups.push(value === undefined ? undefined : checkOperand(value, parameter, place))
      next++
    } else if (value === null) {
      const hint = `Pass undefined, or nothing, to omit ${name}.`
      throw wrongType(place, `a tensor of ${parameterText(parameter)}`, value, hint)
    } else {
      groups.push(undefined)
      if (value === undefined && next < args.length) next++
    }
  }
  while (isTensor(args[next])) groups.push(args[next++] as Tensor)
  if (!isComplete(parameters, groups)) refuseOperands(signature, groups)
  return { tensors: groups.flatMap((one) => one ?? []) as Tensor[], next }
}

/** Whether a value is an operand for a parameter of its kind: numbers, or strings. */
function isOperand(value: unknown, parameter: Parameter): boolean {
  return hasStrings(parameter) ? isStringTensor(value) : isTensor(value)
}

function checkOperand(given: unknown, parameter: Parameter, place: string): Tensor {
  if (hasStrings(parameter)) return readStrings(given, place)
  const value = ownTensor(given, place)
  if (isTensor(value)) return value
  const hint = isStringTensor(value) ? 'Pass numbers, or the bytes of the strings: words.tensor().' : MAKE_TENSORS
  return refuseTensor(value, place, `a tensor of ${parameterText(parameter)}`, hint)
}

/** Whether no operand is missing, no operand before another one is omitted, and there are not too many. */
function isComplete(parameters: readonly Parameter[], groups: Grouped<Tensor>): boolean {
  let omitted = false
  return (
    groups.length === parameters.length &&
    groups.every((one, i) => {
      const isOmitted = one === undefined || (Array.isArray(one) && one.length === 0)
      if (isOmitted && parameters[i]!.kind === 'one') return false
      const isGap = omitted && !isOmitted
      omitted ||= isOmitted
      return !isGap
    })
  )
}

/** @throws {ArgumentError} with what is wrong with the number of operands. */
export function refuseOperands(signature: KernelSignature, groups: Grouped<Tensor>): never {
  const types = groups.map((one) =>
    Array.isArray(one) ? one.map(typeOf) : one === undefined ? undefined : typeOf(one as Tensor),
  )
  kernelShape({ ...signature, attributes: [] }, types, undefined)
  throw new TypeError('unreachable: the core counts operands')
}

const typeOf = ({ type }: Tensor): Tensor['type'] => type

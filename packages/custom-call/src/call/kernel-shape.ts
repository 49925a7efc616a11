import { ArgumentError, TensorType, type KernelSignature, type Parameter } from '@tenon/core'
import { resolveAttributes, resolveCall, type CallType } from '@tenon/core/internal'
import { readTyped } from '../attributes/encode-values.ts'
import type { Alias } from '../shape/alias.ts'
import type { OperandShape, ResultShape } from '../shape/call-shape.ts'
import type { Layouts } from '../shape/layouts.ts'
import { temp, token } from '../shape/leaf.ts'
import { layoutsByPosition, plainTypes, type KernelLayouts } from './kernel-layouts.ts'
import { withoutTokens, type Grouped } from './kernel-parameters.ts'

/** The types, attributes and aliases with which a call of a kernel is prepared. */
export interface KernelShape {
  readonly operands: readonly OperandShape[]
  readonly results: readonly ResultShape[]
  /** The attributes that the call passes, by name, as `resolveAttributes` of the core returns them. */
  readonly values: Readonly<Record<string, unknown>>
  readonly aliases: readonly Alias[]
  readonly names: readonly string[]
  /** The layouts of the tensors by position, if some are not row-major. */
  readonly layouts?: Layouts
}

/**
 * Checks the types and attributes of a call against the signature of its kernel, and infers the types of the results.
 *
 * @param callerOperands the types of the operands, row-major or in their layouts. @param callerResults likewise of results.
 * @param attributes the attributes that the caller passed.
 * @throws {ArgumentError} if the call contradicts the signature, or does not determine a result.
 */
export function kernelShape(
  signature: KernelSignature,
  callerOperands: Grouped<TensorType>,
  attributes: unknown,
  callerResults?: Grouped<TensorType>,
  layouts?: KernelLayouts,
): KernelShape {
  const { name } = signature
  const isPlain = layouts === undefined || layouts.isPlain
  const operands = isPlain
    ? callerOperands
    : plainTypes(name, withoutTokens(signature.operands), layouts.operands, callerOperands)
  const results =
    isPlain || callerResults === undefined
      ? callerResults
      : plainTypes(name, withoutTokens(signature.results), layouts.results, callerResults)
  const values = resolveAttributes(signature, attributes, readTyped)
  const types = {
    operands: operands as readonly CallType[],
    attributes: values,
    results: results as readonly CallType[],
  }
  const resolved = resolveCall(signature, results === undefined ? { ...types, results: undefined } : types)
  const operandNames: string[] = []
  const resultNames: string[] = []
  const operandShapes = placesOf(signature.operands, operands, operandNames)
  let next = 0
  const groups = withoutTokens(signature.results).map(({ kind }, i): TensorType | readonly TensorType[] | undefined => {
    const passed = results?.[i]
    if (passed === undefined) return kind === 'one' ? resolved.results[next++] : undefined
    const count = Array.isArray(passed) ? passed.length : 1
    const own = resolved.results.slice(next, (next += count))
    return Array.isArray(passed) ? own : own[0]
  })
  const resultShapes = placesOf(signature.results, groups, resultNames)
  return {
    operands: operandShapes,
    results: [...resultShapes, ...resolved.temps.map(temp)],
    values,
    aliases: aliasesOf(signature, operandNames, resultNames),
    names: [...operandNames, ...resultNames],
    ...(isPlain ? {} : { layouts: layoutsByPosition(layouts, operands, groups) }),
  }
}

/** Returns the types of the tensors of a call, without tokens and scratch. */
export function typesInShape({ operands, results }: KernelShape): TensorType[] {
  return [...operands, ...results].filter((one) => one instanceof TensorType)
}

/** Returns the shapes in the order of the parameters, and adds the names of the tensors. */
function placesOf(
  parameters: readonly Parameter[],
  groups: Grouped<TensorType>,
  names: string[],
): (TensorType | typeof token)[] {
  let next = 0
  return parameters.flatMap(({ name, isToken }): readonly (TensorType | typeof token)[] => {
    if (isToken) return [token]
    const own = groups[next++]
    if (own === undefined) return []
    if (!Array.isArray(own)) {
      names.push(name)
      return [own as TensorType]
    }
    const several = own as readonly TensorType[]
    several.forEach((_, i) => names.push(`${name}[${i}]`))
    return several
  })
}

function aliasesOf(
  { name, results }: KernelSignature,
  operandNames: readonly string[],
  resultNames: readonly string[],
): Alias[] {
  return results.flatMap(({ name: result, alias }) => {
    if (alias === undefined) return []
    const found = { operand: operandNames.indexOf(alias), result: resultNames.indexOf(result) }
    if (found.operand >= 0 && found.result >= 0) return [found]
    throw new ArgumentError(`${result} of ${name} must share the memory of an operand, got ${alias}, which is omitted`)
  })
}

import { ArgumentError } from '@tenon/core'
import type { ElementType } from './element-types.ts'
import type { AttributeDefinition, AttributeValue, OperandDefinition, OperationDefinition } from './operation.ts'

/** The element type of the tensor for an operand, or those of the tensors in a list. */
export type OperandTypes = ElementType | readonly ElementType[]

/** Whether an operand or a result is a list of tensors. */
export const isTensorList = ({ countAttribute, listAttribute }: OperandDefinition): boolean =>
  countAttribute !== undefined || listAttribute !== undefined

/**
 * Checks the element types and the counts of the operands, and adds the attributes that they determine.
 *
 * @param values the attributes that the caller gives, which the operands must agree with
 * @throws {ArgumentError} with the operand, and what it must be
 */
export function bindOperands(
  operation: OperationDefinition,
  operands: readonly OperandTypes[],
  values: Map<string, AttributeValue>,
): void {
  const binder = new Binder(operation, values)
  for (const [i, operand] of operation.inputs.entries()) {
    const types = operands[i]!
    binder.bind(operand, isTensorList(operand) ? (types as readonly ElementType[]) : [types as ElementType])
  }
}

/** Returns the element types of all operands, those of lists one after another. @param values as for {@link resultTypes} */
export function operandTypes(
  { inputs }: OperationDefinition,
  counts: readonly number[],
  values: ReadonlyMap<string, AttributeValue>,
): ElementType[] {
  return inputs.flatMap(({ type, typeAttribute, listAttribute }, i) => {
    if (listAttribute !== undefined) return values.get(listAttribute) as readonly ElementType[]
    const one = type ?? (values.get(typeAttribute!) as ElementType)
    return Array.from({ length: counts[i]! }, () => one)
  })
}

/** Returns the element types of the results. @param values the attributes from `resolveAttributes()` */
export function resultTypes(
  { outputs }: OperationDefinition,
  values: ReadonlyMap<string, AttributeValue>,
): OperandTypes[] {
  return outputs.map(({ type, typeAttribute, listAttribute, countAttribute }) => {
    if (listAttribute !== undefined) return values.get(listAttribute) as readonly ElementType[]
    const one = type ?? (values.get(typeAttribute!) as ElementType)
    return countAttribute === undefined ? one : Array.from({ length: Number(values.get(countAttribute)) }, () => one)
  })
}

/** The element type as callers know it: that of the memory, unless the elements are quantised. */
const labelOf = ({ name, dtype }: ElementType): string => (dtype === undefined || name.startsWith('q') ? name : dtype)

const sameMemory = (a: ElementType, b: ElementType): boolean =>
  a === b || (a.dtype !== undefined && a.dtype === b.dtype)

/** Binds the attributes of one call. */
class Binder {
  readonly #operation: OperationDefinition
  readonly #values: Map<string, AttributeValue>
  /** The names of the operands that determined an attribute. */
  readonly #origins = new Map<string, string>()

  constructor(operation: OperationDefinition, values: Map<string, AttributeValue>) {
    this.#operation = operation
    this.#values = values
  }

  bind(operand: OperandDefinition, given: readonly ElementType[]): void {
    const { name, type, typeAttribute, countAttribute, listAttribute } = operand
    const isList = isTensorList(operand)
    if (isList) this.#checkLength(name, (countAttribute ?? listAttribute)!, given.length)
    const listed =
      listAttribute === undefined ? undefined : (this.#values.get(listAttribute) as ElementType[] | undefined)
    const types = given.map((one, i) => {
      const place = isList ? `${name}[${i}]` : name
      const attribute = typeAttribute ?? listAttribute
      const bound = type ?? listed?.[i] ?? (typeAttribute === undefined ? undefined : this.#values.get(typeAttribute))
      const found = this.#match(place, attribute, bound as ElementType | undefined, one)
      if (typeAttribute !== undefined) this.#set(typeAttribute, found, place)
      return found
    })
    if (countAttribute !== undefined) this.#set(countAttribute, BigInt(types.length), name)
    if (listAttribute !== undefined) this.#set(listAttribute, types, name)
  }

  #set(attribute: string, value: AttributeValue, place: string): void {
    if (this.#values.has(attribute)) return
    this.#values.set(attribute, value)
    this.#origins.set(attribute, place)
  }

  #checkLength(name: string, attribute: string, length: number): void {
    const bound = this.#values.get(attribute)
    const { minimum = 0n } = this.#find(attribute)
    const expected = Array.isArray(bound) ? bound.length : (bound as bigint | undefined)
    if (expected === undefined ? length >= minimum : BigInt(length) === BigInt(expected)) return
    const phrase = expected === undefined ? `at least ${minimum}` : `${expected}`
    throw this.#wrong(name, `an array of ${phrase} tensors${this.#reason(attribute)}`, `${length}`)
  }

  /** Returns the element type of a tensor as the attribute names it, which can be a quantised one. */
  #match(place: string, attribute: string | undefined, bound: ElementType | undefined, type: ElementType): ElementType {
    const allowed = bound === undefined ? this.#find(attribute!).allowed : [bound]
    const found = (allowed ?? [type]) as readonly ElementType[]
    const match = found.find((one) => one === type) ?? found.find((one) => sameMemory(one, type))
    if (match !== undefined) return match
    const expected = `a tensor of ${found.map(labelOf).join(' or ')}${attribute === undefined ? '' : this.#reason(attribute)}`
    throw this.#wrong(place, expected, labelOf(type))
  }

  #find(attribute: string): AttributeDefinition {
    return this.#operation.attributes.find(({ name }) => name === attribute)!
  }

  /** Returns why an attribute has its value. */
  #reason(attribute: string): string {
    if (!this.#values.has(attribute)) return ''
    const origin = this.#origins.get(attribute)
    return origin === undefined ? `, which is the attribute ${attribute}` : ` like ${origin}`
  }

  #wrong(place: string, expected: string, received: string): ArgumentError {
    const path = `${place} of ${this.#operation.name}`
    return new ArgumentError(`${path} must be ${expected}, got ${received}`, { details: { path, expected, received } })
  }
}

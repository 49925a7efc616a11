import type { AttributeDefinition, AttributeValue } from './operation.ts'

/** Returns the limit of an attribute that a value exceeds, as "at least 2" or "one of float, half", or undefined. */
export function limitOf(
  { kind, isList, allowed, minimum }: AttributeDefinition,
  value: AttributeValue,
): string | undefined {
  if (minimum !== undefined) {
    if (isList && BigInt((value as readonly unknown[]).length) < minimum)
      return `an array of at least ${minimum} elements`
    if (!isList && kind === 'int' && (value as bigint) < minimum) return `at least ${minimum}`
  }
  if (allowed === undefined) return undefined
  const keys = new Set(allowed.map(keyOf))
  const isAllowed = (isList ? (value as readonly unknown[]) : [value]).every((one) => keys.has(keyOf(one)))
  if (isAllowed) return undefined
  return `${isList ? 'an array of' : 'one of'} ${allowed.map(shown).join(', ')}`
}

/** Returns what equal strings, bytes and element types have in common. Element types are compared by identity. */
const keyOf = (value: unknown): unknown =>
  typeof value === 'string' || value instanceof Uint8Array ? Buffer.from(value as string).toString('latin1') : value

const shown = (value: NonNullable<AttributeDefinition['allowed']>[number]): string =>
  typeof value === 'string' || value instanceof Uint8Array ? JSON.stringify(String(value)) : value.name

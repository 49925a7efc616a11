import { dtypeInfo } from '../types/dtype.ts'
import type { AttributeType, ScalarAttributeType } from './kernel-signature.ts'

/** Returns the type of an attribute as messages show it. */
export function typeName(type: AttributeType): string {
  if (typeof type === 'string') return type
  if ('enum' in type) return `one of ${type.enum.map((value) => JSON.stringify(value)).join(', ')}`
  return 'a dictionary'
}

/**
 * Converts a value to the form of a scalar attribute: a boolean, a number, or a bigint for 64-bit integers. Complex numbers
 * are not scalars here, because they have two parts.
 *
 * @returns undefined if the value is of another type or out of range.
 */
export function convertScalar(type: ScalarAttributeType, value: unknown): number | bigint | boolean | undefined {
  if (type === 'pred') return typeof value === 'boolean' ? value : undefined
  if (type === 'f32' || type === 'f64') {
    if (typeof value !== 'number') return undefined
    return type === 'f32' && Number.isFinite(value) && !Number.isFinite(Math.fround(value)) ? undefined : value
  }
  const { bits, kind } = dtypeInfo(type)
  const low = kind === 'int' ? -(2n ** BigInt(bits - 1)) : 0n
  const high = low + 2n ** BigInt(bits) - 1n
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return undefined
  const exact = BigInt(value as number | bigint)
  if (exact < low || exact > high) return undefined
  return bits === 64 ? exact : Number(exact)
}

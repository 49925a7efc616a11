import { dtypeInfo } from '../types/dtype.ts'
import { SCALAR_TYPES } from './element-names.ts'
import type { AttributeType, ScalarAttributeType } from './kernel-signature.ts'
import { quote } from './quote.ts'

const PHRASES: Readonly<Record<string, string>> = {
  string: 'a string',
  pointer: 'a pointer',
  dtype: 'the name of an element type',
  dictionary: 'a dictionary',
}

/** The most strings of an enum that a message shows. */
const SHOWN = 20

/** Returns the type of an attribute as messages show it. */
export function typeName(type: AttributeType): string {
  if (typeof type === 'string') return PHRASES[type] ?? type
  if ('notation' in type) return type.notation
  if ('enum' in type) {
    const shown = type.enum.slice(0, SHOWN).map((value) => quote(value))
    if (type.enum.length > SHOWN) shown.push(`... ${type.enum.length - SHOWN} more`)
    return `one of ${shown.join(', ')}`
  }
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

/** Whether a type is one of the scalars. */
export function isScalarType(type: AttributeType): type is ScalarAttributeType {
  return typeof type === 'string' && (SCALAR_TYPES as readonly string[]).includes(type)
}

/** Returns a value of the type as JavaScript, for hints. */
export function exampleOf(type: AttributeType): string {
  if (typeof type === 'object') {
    if ('notation' in type) return 'a value'
    if ('enum' in type) return quote(type.enum[0] ?? '')
    const members = type.members.filter(({ isOptional }) => !isOptional)
    const shown = (members.length === 0 ? type.members : members).slice(0, 4)
    if (shown.length === 0) return '{}'
    return `{ ${shown.map((member) => `${member.name}: ${exampleOf(member.type)}`).join(', ')} }`
  }
  if (type.endsWith('[]')) return type.startsWith('f') ? '[0.5, 1]' : '[0, 1]'
  if (type === 'c64' || type === 'c128') return '[1, 0]'
  if (type.startsWith('f')) return '0.5'
  return EXAMPLES[type] ?? '1'
}

const EXAMPLES: Readonly<Record<string, string>> = {
  pred: 'true',
  string: '"text"',
  bytes: 'new Uint8Array([1])',
  pointer: 'a tensor',
  dtype: '"float32"',
  dictionary: '{}',
}

/** Returns an instruction to pass a value of the type. */
export function valueHint(type: AttributeType): string {
  if (typeof type === 'object') {
    if ('notation' in type) return `Pass a value for ${type.notation}.`
    return 'enum' in type ? `Pass one of the strings.` : `Pass an object, for example ${exampleOf(type)}.`
  }
  if (type.endsWith('[]')) {
    const element = type.slice(0, -2)
    const { array } = dtypeInfo(element)
    return `Pass an array of ${numberKind(element)}s${rangeOf(element)}, or ${array.startsWith('I') ? 'an' : 'a'} ${array}.`
  }
  if (type === 'c64' || type === 'c128') return 'Pass a number, or an array of the real and the imaginary part.'
  if (isScalarType(type) && type !== 'pred') return `Pass a ${numberKind(type)}${rangeOf(type)}.`
  return HINTS[type] ?? `Pass ${exampleOf(type)}.`
}

const HINTS: Readonly<Record<string, string>> = {
  pred: 'Pass true or false.',
  string: 'Pass a string.',
  bytes: 'Pass a Uint8Array, or a string, which is encoded as UTF-8.',
  pointer: 'Pass a tensor, a segment, or an address as a bigint.',
  dtype: 'Pass the name of an element type, for example "float32".',
  dictionary: 'Pass an object with the attributes of the dictionary.',
}

function numberKind(type: string): string {
  return type.startsWith('f') ? 'number' : 'whole number'
}

function rangeOf(type: string): string {
  if (type.startsWith('f')) return ''
  const { bits, kind } = dtypeInfo(type)
  if (bits === 64) return ` from ${kind === 'int' ? '-2^63 to 2^63 - 1' : '0 to 2^64 - 1'}, as a bigint beyond 2^53 - 1`
  const low = kind === 'int' ? -(2 ** (bits - 1)) : 0
  return ` from ${low} to ${low + 2 ** bits - 1}`
}

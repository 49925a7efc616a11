import { ArgumentError, Segment, Tensor, type AttributeParameter, type KernelSignature } from '@tenon/core'
import { Attribute } from '@tenon/custom-call'
import { dataType, float, int, OpaquePointer, u64, type Argument } from '@tenon/packed-func'

/** Checks that packed functions can have the attributes of a signature. @throws {ArgumentError} */
export function checkPackedAttributes({ name, attributes }: KernelSignature): void {
  for (const attribute of attributes) {
    if (attribute.type !== 'c64' && attribute.type !== 'c128') continue
    throw new ArgumentError(`${attribute.name} of ${name} must have another type than ${attribute.type}`, {
      hint: 'Packed functions do not have complex numbers as arguments. Pass the two parts as f64.',
    })
  }
}

/** Returns the value of an attribute as a packed function takes it. An attribute that is omitted is None. */
export function packedAttribute(type: AttributeParameter['type'], value: unknown): Argument {
  if (value === undefined) return null
  if (typeof type === 'object') {
    if (!('members' in type)) return value as string
    const members = value as Readonly<Record<string, unknown>>
    return new Map(type.members.map((member) => [member.name, packedAttribute(member.type, members[member.name])]))
  }
  if (type === 'pointer') return new OpaquePointer(addressOf(value))
  if (type === 'dtype') return dataType(value as string)
  if (type === 'dictionary') return new Map(Object.entries(value as Readonly<Record<string, Argument>>))
  if (type.endsWith('[]')) {
    return Array.from(value as ArrayLike<number | bigint>, (element) => packedScalar(type.slice(0, -2), element))
  }
  return packedScalar(type, value)
}

function packedScalar(type: string, value: unknown): Argument {
  if (/^f\d/.test(type)) return float(value as number)
  if (type === 'u64') return u64(value as bigint)
  return /^[su]\d/.test(type) ? int(value as number | bigint) : (value as boolean | string | Uint8Array)
}

function addressOf(value: unknown): bigint {
  if (value instanceof Tensor) return BigInt(value.address)
  if (value instanceof Segment) return value.address
  return (value instanceof Attribute ? value.value : value) as bigint
}

import { ArgumentError, type FunctionSignature as CoreSignature, type ValueType } from '@tenon/core'
import {
  checkOptions,
  checkParameterCount,
  checkStructSize,
  checkType,
  type StructField,
  StructType,
  wrongType,
} from '@tenon/core/internal'
import { AddressLayout } from '../layout/address-layout.ts'
import { GroupLayout, PaddingLayout, type StructLayout, type UnionLayout } from '../layout/group-layout.ts'
import { type Layout, sizeOf } from '../layout/memory-layout.ts'
import { SequenceLayout } from '../layout/sequence-layout.ts'
import { ValueLayout } from '../layout/value-layout.ts'
import { nativeOrder } from '../segment/byte-order.ts'

/** A struct or union that is passed by value. */
export type ByValueLayout = StructLayout | UnionLayout

/** The type of a parameter or result: the name of a value's type, or a struct or union that is passed by value. */
export type NativeType = ValueType | ByValueLayout

/** The declaration of a C function, also with structs and unions that are passed by value. They are returned in memory from an allocator. */
export type FunctionSignature = CoreSignature<ByValueLayout>

const structTypes = new WeakMap<GroupLayout, StructType>()

/** The C struct or union of a layout, made once. @throws {ArgumentError} if it cannot be passed by value. */
function structTypeOf(layout: GroupLayout): StructType {
  let type = structTypes.get(layout)
  if (type === undefined) {
    const byteSize = checkStructSize(sizeOf(layout))
    const { byteAlignment, members } = layout
    const naturalAlignment = Math.max(1, ...members.map((member) => member.layout.byteAlignment))
    // The members of unions overlap, and those of structs are in order already.
    const fields = fieldsOf(layout, 0, layout).toSorted((a, b) => a.offset - b.offset)
    type = new StructType({ byteSize, byteAlignment, naturalAlignment, fields })
    structTypes.set(layout, type)
  }
  return type
}

/** The scalars of a layout that begins at an offset of a struct or union. */
function fieldsOf(layout: Layout, offset: number, struct: GroupLayout): StructField[] {
  if (layout instanceof ValueLayout || layout instanceof AddressLayout) {
    if (layout.order !== nativeOrder) throw foreignOrder(layout, struct)
    return [{ offset, kind: layout instanceof AddressLayout ? 'pointer' : layout.kind }]
  }
  if (layout instanceof PaddingLayout) return []
  if (layout instanceof GroupLayout) {
    return layout.members.flatMap((member) => fieldsOf(member.layout, offset + member.byteOffset, struct))
  }
  if (layout instanceof SequenceLayout) {
    const { element, elementCount } = layout
    const size = sizeOf(element)
    // Elements without bytes have no fields, however many there are.
    if (size === 0) return []
    return Array.from({ length: elementCount ?? 0 }, (_, i) => fieldsOf(element, offset + i * size, struct)).flat()
  }
  throw new ArgumentError(`a struct passed by value must not have the member ${layout}, got ${struct}`, {
    hint: 'Pass a pointer to the struct.',
  })
}

function foreignOrder(layout: ValueLayout | AddressLayout, struct: GroupLayout): ArgumentError {
  return new ArgumentError(
    `a struct passed by value must have the byte order of the machine (${nativeOrder}), got the member ${layout} of ${struct}`,
    { hint: 'Pass a pointer to the struct, because C reads its members in the byte order of the machine.' },
  )
}

/** @throws {ArgumentError} if the value is not a type. */
export function coreTypeOf(type: NativeType): ValueType | StructType {
  return type instanceof GroupLayout ? structTypeOf(type) : checkType(type)
}

/** A signature whose members were read once. */
export interface CheckedSignature {
  readonly result: NativeType | 'void'
  readonly parameters: readonly NativeType[]
  readonly fixedParameters: number | undefined
}

const MEMBERS = ['result', 'parameters', 'fixedParameters'] as const
const NONE: readonly NativeType[] = []

/** Reads a signature, but not its types. @throws {ArgumentError} if the value is not a signature. */
export function checkSignature(signature: FunctionSignature): CheckedSignature {
  if (signature === undefined || Array.isArray(signature)) {
    throw wrongType('signature', 'an object with result and parameters', signature)
  }
  const { result = 'void', parameters, fixedParameters } = checkOptions(signature, MEMBERS, 'signature')
  return { result, parameters: parameters === undefined ? NONE : copyOf(parameters), fixedParameters }
}

/** Returns a copy without holes, because the types of an array can change later. */
function copyOf(parameters: readonly NativeType[]): NativeType[] {
  if (!Array.isArray(parameters)) throw wrongType('parameters', 'an array of types', parameters)
  const { length } = parameters
  checkParameterCount(length)
  const copy: NativeType[] = []
  for (let i = 0; i < length; i++) copy.push(parameters[i] as NativeType)
  return copy
}

import { ArgumentError, type ValueType } from '@tenon/core'
import { describe, StructType, type StructMember } from '@tenon/core/internal'
import { AddressLayout } from '../layout/address-layout.ts'
import { StructLayout } from '../layout/group-layout.ts'
import { type Layout, sizeOf } from '../layout/memory-layout.ts'
import { SequenceLayout } from '../layout/sequence-layout.ts'
import { ValueLayout } from '../layout/value-layout.ts'

/** The type of a parameter or result: a value's name, or a struct that is passed by value. */
export type NativeType = ValueType | StructLayout

/** The C signature of a function. */
export interface FunctionSignature {
  /** `void` without it. A `pointer` comes back as a segment without memory, a struct in memory of an allocator. */
  readonly result?: NativeType | 'void'
  readonly parameters?: readonly NativeType[]
  /** For a variadic function: how many of the parameters stand before the `...`. */
  readonly fixedParameters?: number
}

const structTypes = new WeakMap<StructLayout, StructType>()

/** The C struct of a layout, declared once. @throws {ArgumentError} if it can't be passed by value. */
export function structTypeOf(layout: StructLayout): StructType {
  let type = structTypes.get(layout)
  if (type === undefined) structTypes.set(layout, (type = new StructType(layout.members.map(memberOf), sizeOf(layout))))
  return type
}

function memberOf({ name, layout }: StructLayout['members'][number]): StructMember {
  const { element, count } = elementOf(layout)
  const member = { name, byteAlignment: layout.byteAlignment, ...(count === undefined ? {} : { count }) }
  if (element instanceof StructLayout) return { ...member, type: structTypeOf(element).cType }
  if (element instanceof AddressLayout) return { ...member, type: 'uintptr_t' }
  if (element instanceof ValueLayout) {
    const { kind } = element
    return {
      ...member,
      type: kind === 'bool' ? 'bool' : kind === 'float32' ? 'float' : kind === 'float64' ? 'double' : `${kind}_t`,
    }
  }
  throw new ArgumentError(`the member ${name} of a struct passed by value can't be ${layout}`, {
    hint: 'pass a pointer to it: unions, padding and nested sequences have no form by value.',
  })
}

function elementOf(layout: Layout): { element: Layout; count: number | undefined } {
  if (!(layout instanceof SequenceLayout)) return { element: layout, count: undefined }
  if (layout.elementCount === undefined)
    throw new ArgumentError('a struct passed by value can not end with an open sequence')
  return { element: layout.element, count: layout.elementCount }
}

/** What the core calls a type. */
export function coreTypeOf(type: NativeType): ValueType | StructType {
  return type instanceof StructLayout ? structTypeOf(type) : type
}

/** What the driver takes. */
const MOST_PARAMETERS = 64

/** @throws {ArgumentError} if it is no signature. */
export function checkSignature(signature: unknown): void {
  if (typeof signature !== 'object' || signature === null || Array.isArray(signature)) {
    throw new ArgumentError(`signature must be an object with result and parameters, got ${describe(signature)}`)
  }
  const { parameters } = signature as FunctionSignature
  if (parameters !== undefined && !Array.isArray(parameters)) {
    throw new ArgumentError(`parameters must be an array of types, got ${describe(parameters)}`)
  }
  if (parameters !== undefined && parameters.length > MOST_PARAMETERS) {
    throw new ArgumentError(`a function can have at most ${MOST_PARAMETERS} parameters, got ${parameters.length}`, {
      hint: 'pass a struct by pointer.',
    })
  }
}

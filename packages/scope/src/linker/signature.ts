import { ArgumentError, type ValueType } from '@tenon/core'
import { checkOptions, StructType, type StructMember, wrongType } from '@tenon/core/internal'
import { AddressLayout } from '../layout/address-layout.ts'
import { StructLayout } from '../layout/group-layout.ts'
import { sizeOf } from '../layout/memory-layout.ts'
import { SequenceLayout } from '../layout/sequence-layout.ts'
import { ValueLayout } from '../layout/value-layout.ts'

/** The type of a parameter or result: the name of a value's type, or a struct that is passed by value. */
export type NativeType = ValueType | StructLayout

/** The C signature of a function. */
export interface FunctionSignature {
  /** Default: `void`. A `pointer` is returned as a segment of size 0, and a struct in memory from an allocator. */
  readonly result?: NativeType | 'void'
  readonly parameters?: readonly NativeType[]
  /** For a variadic function, the number of parameters before the `...`. */
  readonly fixedParameters?: number
}

const structTypes = new WeakMap<StructLayout, StructType>()

/** The C struct of a layout, declared once. @throws {ArgumentError} if it cannot be passed by value. */
export function structTypeOf(layout: StructLayout): StructType {
  let type = structTypes.get(layout)
  if (type === undefined) structTypes.set(layout, (type = new StructType(layout.members.map(memberOf), sizeOf(layout))))
  return type
}

const cFloats = { float32: 'float', float64: 'double' } as const

function memberOf({ name, layout }: StructLayout['members'][number]): StructMember {
  const isArray = layout instanceof SequenceLayout
  if (isArray && layout.elementCount === undefined) {
    throw new ArgumentError('a struct passed by value must not end with an open sequence')
  }
  const element = isArray ? layout.element : layout
  const member = { name, byteAlignment: layout.byteAlignment, ...(isArray ? { count: layout.elementCount! } : {}) }
  if (element instanceof StructLayout) return { ...member, type: structTypeOf(element).cType }
  if (element instanceof AddressLayout) return { ...member, type: 'uintptr_t' }
  if (element instanceof ValueLayout) {
    const { kind } = element
    const isFloat = kind === 'float32' || kind === 'float64'
    return { ...member, type: isFloat ? cFloats[kind] : kind === 'bool' ? kind : `${kind}_t` }
  }
  throw new ArgumentError(`the member ${name} of a struct passed by value must not be ${layout}`, {
    hint: 'Pass a pointer to the struct, because unions, padding and nested sequences cannot be passed by value.',
  })
}

export function coreTypeOf(type: NativeType): ValueType | StructType {
  return type instanceof StructLayout ? structTypeOf(type) : type
}

/** The driver's limit. */
const MOST_PARAMETERS = 64

/** @throws {ArgumentError} if the value is not a signature. */
export function checkSignature(signature: FunctionSignature): FunctionSignature {
  if (signature === undefined || Array.isArray(signature)) {
    throw wrongType('signature', 'an object with result and parameters', signature)
  }
  const { parameters } = checkOptions(signature, ['result', 'parameters', 'fixedParameters'], 'signature')
  if (parameters !== undefined && !Array.isArray(parameters)) {
    throw wrongType('parameters', 'an array of types', parameters)
  }
  if (parameters !== undefined && parameters.length > MOST_PARAMETERS) {
    throw new ArgumentError(`a function must have at most ${MOST_PARAMETERS} parameters, got ${parameters.length}`, {
      hint: 'Pass a struct by pointer.',
      details: { expected: MOST_PARAMETERS, received: parameters.length },
    })
  }
  return signature
}

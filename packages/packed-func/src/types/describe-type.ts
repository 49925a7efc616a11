import { LAYOUTS } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { openStack } from '../native/stack.ts'
import { typeKeyOf } from '../objects/native-object.ts'
import type { Value } from '../values/argument.ts'
import { unpack } from '../values/unpack.ts'
import { hasFunction } from './attributes.ts'
import { FieldFlag, INIT, readType, typeIndexOfKey, type MemberEntry, type TypeTable } from './type-table.ts'

/** A field that a type itself registers. */
export interface FieldDescription {
  readonly name: string
  /** The type as JSON: the `type_schema` of tvm-ffi. */
  readonly type?: string
  readonly doc?: string
  /** Whether the field can be set. */
  readonly writable: boolean
  /** Whether a constructor with one value for each field can do without it. */
  readonly hasDefault: boolean
  /** The default value of a constructor with one value for each field, if it is a value and not made by a function. */
  readonly default?: Value
  /** Whether such a constructor takes the field. */
  readonly init: boolean
  /** Whether such a constructor takes it only by its name, with `kwargs()`. */
  readonly keywordOnly: boolean
  /** Whether the text of an object has the field. */
  readonly repr: boolean
  /** Whether comparisons read the field. */
  readonly compare: boolean
  /** Whether hashes read the field. */
  readonly hash: boolean
}

/** A method that a type itself registers. */
export interface MethodDescription {
  readonly name: string
  /** The type of the function as JSON: the `type_schema` of tvm-ffi. An instance method takes the object first. */
  readonly type?: string
  readonly doc?: string
  readonly isStatic: boolean
}

/** A registered type: see {@link describeType}. */
export interface TypeDescription {
  readonly key: string
  /** The keys of its ancestors, the root first. */
  readonly ancestors: readonly string[]
  readonly doc?: string
  /** The size of its objects in bytes, or 0 if the library does not say. */
  readonly size: number
  /** Whether it has a constructor of its own, one with a value for each field, or none. */
  readonly constructable: 'explicit' | 'fields' | false
  /** The fields that the type itself registers, without those of its ancestors. */
  readonly fields: readonly FieldDescription[]
  /** The methods that the type itself registers, and not `__ffi_init__` as a member. */
  readonly methods: readonly MethodDescription[]
}

/**
 * Describes a type that a library has registered. The description is a copy, which does not change if the type gets more
 * members.
 *
 * @throws {ValueError} if no type has the key. The hint names similar keys. @throws {ArgumentError} if it is not a string.
 * @example
 * describeType('ffi.Array').ancestors // ['ffi.Object']
 */
export function describeType(key: string): TypeDescription {
  const table = readType(typeIndexOfKey(key))
  return Object.freeze({
    key: table.key,
    ancestors: Object.freeze(table.ancestors.map((index) => typeKeyOf(index))),
    ...(table.doc === undefined ? {} : { doc: table.doc }),
    size: table.size,
    constructable: constructable(table),
    fields: Object.freeze(table.fields.map((field) => describeField(field))),
    methods: Object.freeze(table.methods.map((method) => describeMethod(method))),
  })
}

function constructable({ index, methods }: TypeTable): TypeDescription['constructable'] {
  if (methods.some(({ name }) => name === INIT)) return 'explicit'
  return hasFunction(index, INIT) ? 'fields' : false
}

/** The optional texts of a member, without those that are missing. */
const textsOf = ({ type, doc }: MemberEntry): { type?: string; doc?: string } => ({
  ...(type === undefined ? {} : { type }),
  ...(doc === undefined ? {} : { doc }),
})

function describeField(field: MemberEntry): FieldDescription {
  const has = (flag: number): boolean => (field.flags & flag) !== 0
  const isValue = has(FieldFlag.HasDefault) && !has(FieldFlag.DefaultFromFactory)
  return Object.freeze({
    name: field.name,
    ...textsOf(field),
    writable: has(FieldFlag.Writable),
    hasDefault: has(FieldFlag.HasDefault),
    ...(isValue ? { default: copyOfValue(field.info, LAYOUTS.TVMFFIFieldInfo.offsets.default_value_or_factory) } : {}),
    init: !has(FieldFlag.InitOff),
    keywordOnly: has(FieldFlag.KwOnly),
    repr: !has(FieldFlag.ReprOff),
    compare: !has(FieldFlag.CompareOff),
    hash: !has(FieldFlag.HashOff),
  })
}

const describeMethod = (method: MemberEntry): MethodDescription =>
  Object.freeze({ name: method.name, ...textsOf(method), isStatic: (method.flags & FieldFlag.IsStatic) !== 0 })

/** Returns a value that the library holds for ever, whose TVMFFIAny is in a copy of a struct. */
export function copyOfValue(info: Buffer, offset: number): Value {
  const stack = openStack()
  return stack.frame(1, (base) => {
    info.copy(stack.bytes, stack.slotOffset(base + 1), offset, offset + LAYOUTS.TVMFFIAny.size)
    const at = stack.slotAddress(base)
    if (stack.entered.tn_packed_own(at, 1, at) !== 0) throw takeError(stack, base)
    return unpack(stack, base, stack.i32[base * 4]!)
  })
}

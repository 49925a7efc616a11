import { addressOf, CONSTANTS, didYouMean, keepAlive, LAYOUTS, checkName } from '@tenon/core/internal'
import { InternalError, ValueError } from '../errors/error-kinds.ts'
import { builtin } from '../functions/registry.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { NativeArray } from '../objects/containers.ts'

/** A field or method, as the bound library describes it. */
export interface MemberEntry {
  readonly name: string
  readonly doc: string | undefined
  /** The `type_schema` of its metadata, which is JSON. */
  readonly type: string | undefined
  /** The bits of {@link FieldFlag}, or whether a method is static. */
  readonly flags: number
  /** A copy of the library's struct: a TVMFFIFieldInfo or a TVMFFIMethodInfo. */
  readonly info: Buffer
}

/** A type as the bound library knows it now. It may get more fields and methods, and nothing else changes. */
export interface TypeTable {
  readonly index: number
  readonly key: string
  /** The indices of its ancestors, the root first. */
  readonly ancestors: readonly number[]
  readonly doc: string | undefined
  /** The size of its objects in bytes, or 0 if the library does not say. */
  readonly size: number
  readonly fields: readonly MemberEntry[]
  /** The methods that are functions. A library can register other values as well, which nothing can call. */
  readonly methods: readonly MemberEntry[]
  readonly counts: MemberCounts
}

/** The numbers of fields and methods that a library has registered for a type. */
export interface MemberCounts {
  readonly fields: number
  readonly methods: number
}

/** The flags of a field that this package reads. */
export const FieldFlag = {
  Writable: CONSTANTS.kTVMFFIFieldFlagBitMaskWritable as number,
  HasDefault: CONSTANTS.kTVMFFIFieldFlagBitMaskHasDefault as number,
  IsStatic: CONSTANTS.kTVMFFIFieldFlagBitMaskIsStaticMethod as number,
  DefaultFromFactory: CONSTANTS.kTVMFFIFieldFlagBitMaskDefaultFromFactory as number,
  ReprOff: CONSTANTS.kTVMFFIFieldFlagBitMaskReprOff as number,
  CompareOff: CONSTANTS.kTVMFFIFieldFlagBitMaskCompareOff as number,
  HashOff: CONSTANTS.kTVMFFIFieldFlagBitMaskHashOff as number,
  InitOff: CONSTANTS.kTVMFFIFieldFlagBitMaskInitOff as number,
  KwOnly: CONSTANTS.kTVMFFIFieldFlagBitMaskKwOnly as number,
} as const

/** The name of the method and of the attribute that construct an object. */
export const INIT = '__ffi_init__'

const { TVMFFITypeInfo: TYPE, TVMFFIFieldInfo: FIELD, TVMFFIMethodInfo: METHOD, TVMFFITypeMetadata: METADATA } = LAYOUTS
const POINTER_SIZE = 8

const pointerAt = (bytes: Buffer, offset: number): number => Number(bytes.readBigUInt64LE(offset))

/** The text of a TVMFFIByteArray, or undefined if it is empty. */
function textAt(stack: Stack, bytes: Buffer, offset: number): string | undefined {
  const size = pointerAt(bytes, offset + LAYOUTS.TVMFFIByteArray.offsets.size)
  return size === 0 ? undefined : stack.copyOf(pointerAt(bytes, offset), size).toString()
}

function membersAt(stack: Stack, address: number, count: number, layout: typeof FIELD | typeof METHOD): MemberEntry[] {
  const { size, offsets } = layout
  const copy = stack.copyOf(address, count * size)
  return Array.from({ length: count }, (_, i) => {
    const info = copy.subarray(i * size, (i + 1) * size)
    return {
      name: textAt(stack, info, offsets.name) ?? '',
      doc: textAt(stack, info, offsets.doc),
      type: schemaIn(textAt(stack, info, offsets.metadata)),
      flags: info.readInt32LE(offsets.flags),
      info,
    }
  })
}

/** Returns the `type_schema` of metadata, or undefined if there is none. */
function schemaIn(metadata: string | undefined): string | undefined {
  if (metadata === undefined) return undefined
  try {
    const { type_schema: schema } = Object(JSON.parse(metadata)) as { type_schema?: unknown }
    if (typeof schema === 'string') return schema
    return typeof schema === 'object' && schema !== null ? JSON.stringify(schema) : undefined
  } catch {
    return undefined
  }
}

/** A copy of the struct of a type. @throws {InternalError} for an unknown index; official libraries end the process instead. */
function infoOf(stack: Stack, index: number): Buffer {
  const address = Number(stack.host.tn_packed_type_info(index))
  if (address === 0)
    throw new InternalError(`the type index of an object must be that of a registered type, got ${index}`)
  return stack.copyOf(address, TYPE.size)
}

/** Reads a type. @throws {InternalError} for an unknown index */
export function readType(index: number): TypeTable {
  const stack = openStack()
  const { offsets } = TYPE
  const info = infoOf(stack, index)
  const depth = info.readInt32LE(offsets.type_depth)
  const ancestors = stack.copyOf(pointerAt(info, offsets.type_ancestors), depth * POINTER_SIZE)
  const metadata = pointerAt(info, offsets.metadata)
  const about = metadata === 0 ? undefined : stack.copyOf(metadata, METADATA.size)
  const counts = countsIn(info)
  return {
    index,
    key: textAt(stack, info, offsets.type_key) ?? '',
    ancestors: Array.from({ length: depth }, (_, i) =>
      stack.copyOf(pointerAt(ancestors, i * POINTER_SIZE) + offsets.type_index, 4).readInt32LE(),
    ),
    doc: about && textAt(stack, about, METADATA.offsets.doc),
    size: about?.readInt32LE(METADATA.offsets.total_size) ?? 0,
    fields: membersAt(stack, pointerAt(info, offsets.fields), counts.fields, FIELD),
    methods: membersAt(stack, pointerAt(info, offsets.methods), counts.methods, METHOD).filter(
      (method) => method.info.readInt32LE(METHOD.offsets.method) === TypeIndex.Function,
    ),
    counts,
  }
}

const countsIn = (info: Buffer): MemberCounts => ({
  fields: info.readInt32LE(TYPE.offsets.num_fields),
  methods: info.readInt32LE(TYPE.offsets.num_methods),
})

/** Returns the numbers of fields and methods that a type has now. */
export function memberCounts(index: number): MemberCounts {
  const stack = openStack()
  return countsIn(infoOf(stack, index))
}

/** Returns the index of a type. @throws {ValueError} if no type has the key. The hint names similar keys. */
export function typeIndexOfKey(key: string): number {
  const index = lookUp(checkName(key, 'key'))
  if (index !== -1) return index
  throw new ValueError(`no type '${key}' is registered`, {
    hint: didYouMean(key, listTypes()) ?? 'Load the library that registers the type first, with Module.open(path).',
  })
}

/** The index of a type, or -1 if no type has the key. */
function lookUp(key: string): number {
  const text = Buffer.from(key)
  const index = openStack().host.tn_packed_type_index(addressOf(text), text.length)
  keepAlive(text)
  return index
}

/** Whether a type can be looked up by its key: not if the key is empty, or has a NUL character or bytes that are not UTF-8. */
const isUsable = (key: string): boolean =>
  key !== '' && !key.includes('\0') && (!key.includes('\uFFFD') || lookUp(key) !== -1)

/**
 * The keys of all types that are registered, in the order of their indices. Types without a number in the ABI follow those with
 * one, in the order in which libraries registered them. Keys that are empty, or have a NUL character or bytes that are not UTF-8,
 * are left out.
 *
 * @example
 * listTypes().includes('ffi.Array') // true
 */
export function listTypes(): string[] {
  const keys = builtin('ffi.GetRegisteredTypeKeys')() as NativeArray
  try {
    return (keys.toArray() as string[]).filter(isUsable)
  } finally {
    keys.close()
  }
}

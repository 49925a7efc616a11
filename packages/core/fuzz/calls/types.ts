import type { ValueType } from '../../src/native/value-type.ts'

/** The scalars of C. A text is a pointer there. */
export type ScalarType = Exclude<ValueType, 'text'>

/** A C type of the generated programs. */
export type CType = ScalarType | Struct

export interface Struct {
  readonly name: string
  /** The argument of `#pragma pack`, if the struct is packed. */
  readonly pack: number | undefined
  readonly members: readonly Member[]
  readonly size: number
  readonly alignment: number
}

export interface Member {
  readonly name: string
  readonly type: CType
  /** The number of elements, if the member is an array. */
  readonly count: number | undefined
  readonly offset: number
  readonly alignment: number
}

export interface Signature {
  readonly result: CType | 'void'
  readonly parameters: readonly CType[]
  readonly fixedParameters: number | undefined
}

/** A scalar inside of a type, and its offset. Bytes between the scalars are padding. */
export interface Scalar {
  readonly type: ScalarType
  readonly offset: number
}

const scalarSizes: Readonly<Record<ScalarType, number>> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
  pointer: 8,
}

export const scalarTypes = Object.keys(scalarSizes) as readonly ScalarType[]

export const isStruct = (type: CType | 'void'): type is Struct => typeof type === 'object'

export const sizeOf = (type: CType): number => (isStruct(type) ? type.size : scalarSizes[type])

const alignmentOf = (type: CType): number => (isStruct(type) ? type.alignment : scalarSizes[type])

const alignUp = (offset: number, alignment: number): number => Math.ceil(offset / alignment) * alignment

export function makeStruct(
  name: string,
  members: readonly { readonly type: CType; readonly count?: number | undefined }[],
  pack?: number,
): Struct {
  let end = 0
  let alignment = 1
  const placed = members.map(({ type, count }, i): Member => {
    const own = Math.min(alignmentOf(type), pack ?? Infinity)
    const offset = alignUp(end, own)
    end = offset + sizeOf(type) * (count ?? 1)
    alignment = Math.max(alignment, own)
    return { name: `m${i}`, type, count, offset, alignment: own }
  })
  return { name, pack, members: placed, size: alignUp(end, alignment), alignment }
}

/** All scalars of a type, in the order of their offsets. */
export function scalarsOf(type: CType, base = 0): Scalar[] {
  if (!isStruct(type)) return [{ type, offset: base }]
  return type.members.flatMap((member) =>
    Array.from({ length: member.count ?? 1 }, (_, i) =>
      scalarsOf(member.type, base + member.offset + i * sizeOf(member.type)),
    ).flat(),
  )
}

/** All structs that types consist of, each after those that it contains. */
export function structsOf(types: readonly (CType | 'void')[]): Set<Struct> {
  const found = new Set<Struct>()
  const add = (type: CType | 'void'): void => {
    if (!isStruct(type)) return
    for (const member of type.members) add(member.type)
    found.add(type)
  }
  types.forEach(add)
  return found
}

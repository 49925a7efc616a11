import { isFloat, VALUE_SIZES } from '../value-type.ts'
import type { PlanType, StructShape } from './call-plan.ts'

export const isStruct = (type: PlanType | 'void'): type is StructShape => typeof type === 'object'

/** The class of 8 bytes of a struct in the System V ABI. Padding has no class and needs no register. */
export type EightbyteClass = 'integer' | 'sse' | 'none'

/** The classes of a struct's eightbytes, or null for a struct of class MEMORY. Source: the x86-64 psABI, 3.2.3. */
export function eightbytesOf({ byteSize, fields }: StructShape): EightbyteClass[] | null {
  if (byteSize > 16) return null
  const classes = new Array<EightbyteClass>(Math.ceil(byteSize / 8)).fill('none')
  for (const { offset, kind } of fields) {
    if (offset % VALUE_SIZES[kind] !== 0) return null
    const index = Math.floor(offset / 8)
    if (!isFloat(kind)) classes[index] = 'integer'
    else if (classes[index] === 'none') classes[index] = 'sse'
  }
  return classes
}

/**
 * The elements of a homogeneous floating-point aggregate of AAPCS64: one to four floats, or doubles, without padding. Members of a union
 * may have the same elements. Null for every other struct.
 */
export function floatsOf({ byteSize, fields: all }: StructShape): { count: number; size: number } | null {
  // The largest has four doubles.
  if (byteSize > 32) return null
  const kind = all[0]?.kind
  const fields = all.filter(
    (field, i) => field.kind !== kind || all.findIndex(({ offset }) => offset === field.offset) === i,
  )
  if (kind === undefined || !isFloat(kind) || fields.length > 4) return null
  const size = VALUE_SIZES[kind]
  const isHomogeneous = fields.every((field, i) => field.kind === kind && field.offset === i * size)
  return isHomogeneous && byteSize === fields.length * size ? { count: fields.length, size } : null
}

import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/**
 * How the strings of a tensor lie in memory.
 *
 * - `tf`: TF_TString as TensorFlow shipped it in 2.4: 24 bytes a string, SMALL, LARGE, OFFSET or VIEW.
 * - `rfc16`, `rfc24`: the tstring RFC's two variants: SMALL, LARGE, OFFSET or PREALLOC.
 * - `legacy`: TF_STRING before 2.4: a table of offsets, then length and bytes of each string.
 * - `tflite`: TensorFlow Lite's string buffer: a count, offsets, then bytes.
 */
export type Layout = 'tf' | 'rfc16' | 'rfc24' | 'legacy' | 'tflite'

/** All layouts, in the order of the C core's numbers. */
export const layouts: readonly Layout[] = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']

/** A layout whose strings are structs of one size. */
export type StructLayout = 'tf' | 'rfc16' | 'rfc24'

/** What bytes can be read as: a layout, or Arrow's offsets beside its data. */
export type ImageLayout = Layout | 'arrow32' | 'arrow64'

/** All of them, in the order of the C core's numbers. */
export const imageLayouts: readonly ImageLayout[] = [...layouts, 'arrow32', 'arrow64']

/** The type of one string in a struct: the low two bits of its first byte. */
export type StringType = 'small' | 'large' | 'offset' | 'view' | 'prealloc'

/** The low two bits of a struct's first byte. 3 is VIEW as shipped and PREALLOC in the RFC. */
export const TYPE = { SMALL: 0, LARGE: 1, OFFSET: 2, VIEW: 3, PREALLOC: 3 } as const

/** The largest string that an OFFSET can name, in bytes: its size word has 30 bits. */
export const OFFSET_STRING_MAXIMUM: number = 2 ** 30 - 1

/** What TFLite's and Arrow Utf8's 32-bit offsets reach, in bytes. */
export const INT32_MAXIMUM: number = 2 ** 31 - 1

/** The name of the type with this code in a layout. */
export function typeName(layout: StructLayout, code: number): StringType {
  if (code === TYPE.VIEW) return layout === 'tf' ? 'view' : 'prealloc'
  return code === TYPE.SMALL ? 'small' : code === TYPE.LARGE ? 'large' : 'offset'
}

/** Whether strings are structs of one size. */
export function isStructLayout(layout: ImageLayout): layout is StructLayout {
  return layout === 'tf' || layout === 'rfc16' || layout === 'rfc24'
}

/** Bytes of one struct. */
export function structSize(layout: StructLayout): 16 | 24 {
  return layout === 'rfc16' ? 16 : 24
}

/** The largest string that a SMALL holds, in bytes. The shipped struct keeps room for a NUL. */
export function smallCapacity(layout: StructLayout): number {
  return layout === 'tf' ? 22 : structSize(layout) - 1
}

/** Bytes of the table of `count` elements: structs, offsets, TFLite's header. */
export function tableSize(layout: ImageLayout, count: number): number {
  switch (layout) {
    case 'legacy':
      return 8 * count
    case 'tflite':
      return 4 * (count + 2)
    case 'arrow32':
      return 4 * (count + 1)
    case 'arrow64':
      return 8 * (count + 1)
    default:
      return structSize(layout) * count
  }
}

/** Checks a layout's name. @throws {ArgumentError} for any other. */
export function checkLayout(layout: unknown): Layout {
  const found = layouts.find((name) => name === layout)
  if (found !== undefined) return found
  throw new ArgumentError(`layout must be one of ${layouts.join(', ')}, got ${describe(layout)}`)
}

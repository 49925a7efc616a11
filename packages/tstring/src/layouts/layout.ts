import type { StringLayout } from '@tenon/core'
import { STRING_LAYOUTS } from '@tenon/core/internal'
import { checkOneOf } from '../errors/arguments.ts'

/**
 * The layout of a tensor's strings in memory.
 *
 * - `tf`: TF_TString as TensorFlow shipped it in 2.4. Each string has 24 bytes and is SMALL, LARGE, OFFSET or VIEW.
 * - `rfc16`, `rfc24`: the two variants of the tstring RFC. A string is SMALL, LARGE, OFFSET or PREALLOC.
 * - `legacy`: TF_STRING before 2.4: a table of offsets, then the length and bytes of each string.
 * - `tflite`: TensorFlow Lite's string buffer: a count, offsets, then bytes.
 */
export type Layout = StringLayout

/** A layout that has a struct of fixed size for each string. */
export type StructLayout = 'tf' | 'rfc16' | 'rfc24'

export const structLayouts: readonly StructLayout[] = ['tf', 'rfc16', 'rfc24']

/** One of the RFC's two structs: without and with a capacity. */
export type RfcLayout = 'rfc16' | 'rfc24'

export const rfcLayouts: readonly RfcLayout[] = ['rfc16', 'rfc24']

/** A layout that bytes are read as: one of a tensor, or Arrow's offsets beside its data. */
export type ImageLayout = Layout | 'arrow32' | 'arrow64'

/** The type of one string in a struct: the low two bits of its first byte. */
export type StringType = 'small' | 'large' | 'offset' | 'view' | 'prealloc'

/** The low two bits of a struct's first byte. 3 is VIEW as shipped and PREALLOC in the RFC. */
export const TYPE = { SMALL: 0, LARGE: 1, OFFSET: 2, VIEW: 3, PREALLOC: 3 } as const

/** The largest string of an OFFSET in bytes. The size word has 30 bits for it. */
export const OFFSET_STRING_MAXIMUM: number = 2 ** 30 - 1

/** The largest 32-bit offset of TFLite and Arrow Utf8, in bytes. */
export const INT32_MAXIMUM: number = 2 ** 31 - 1

export function typeName(layout: StructLayout, code: number): StringType {
  if (code === TYPE.VIEW) return layout === 'tf' ? 'view' : 'prealloc'
  return code === TYPE.SMALL ? 'small' : code === TYPE.LARGE ? 'large' : 'offset'
}

export function isStructLayout(layout: ImageLayout): layout is StructLayout {
  return layout === 'tf' || layout === 'rfc16' || layout === 'rfc24'
}

export function structSize(layout: StructLayout): 16 | 24 {
  return layout === 'rfc16' ? 16 : 24
}

/** Returns the largest string of a SMALL in bytes. The shipped struct keeps room for a NUL. */
export function smallCapacity(layout: StructLayout): number {
  return layout === 'tf' ? 22 : structSize(layout) - 1
}

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

export const checkLayout = (layout: unknown): Layout => checkOneOf(layout, STRING_LAYOUTS, 'layout')

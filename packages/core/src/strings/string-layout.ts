/**
 * The layout of the strings of a tensor in memory.
 *
 * - `tf`: TF_TString as TensorFlow shipped it in 2.4. Each string has 24 bytes and is SMALL, LARGE, OFFSET or VIEW.
 * - `rfc16`, `rfc24`: the two variants of the tstring RFC. A string is SMALL, LARGE, OFFSET or PREALLOC.
 * - `legacy`: TF_STRING before 2.4: a table of offsets, then the length and bytes of each string.
 * - `tflite`: TensorFlow Lite's string buffer: a count, offsets, then bytes.
 */
export type StringLayout = 'tf' | 'rfc16' | 'rfc24' | 'legacy' | 'tflite'

/** All layouts, in the order of the C core's numbers. */
export const STRING_LAYOUTS: readonly StringLayout[] = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']

/** The layout of `string` in a signature that does not name one. It is the only layout that TensorFlow's own kernels take. */
export const DEFAULT_STRING_LAYOUT: StringLayout = 'tf'

/** The size of a string's struct in bytes, or 0 for a layout in which strings have no struct. */
export function stringSize(layout: StringLayout): 0 | 16 | 24 {
  if (layout === 'rfc16') return 16
  return layout === 'tf' || layout === 'rfc24' ? 24 : 0
}

/** The element type as a signature shows it: `string<tf>`. */
export const stringName = (layout: StringLayout): string => `string<${layout}>`

import { gcAllocator } from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { FORM } from '../kernels/plan.ts'
import { hostAbi } from '../layouts/abi.ts'
import type { Layout } from '../layouts/layout.ts'
import { checkWritable } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { policyOf, type InvalidText } from '../text/decode.ts'
import type { Text } from '../text/encode.ts'
import { convertTo, layoutOptions, placementOf, TABLE_ALIGNMENT, type LayoutOptions } from './convert-to.ts'
import { encodeArena } from './encode-arena.ts'
import { encodePacked } from './encode-packed.ts'
import { arenaParts, type Parts } from './parts.ts'
import { checkShape } from './shape.ts'

/** Options of `StringTensor.from`. */
export interface FromOptions extends LayoutOptions {
  /** The layout; by default `tf`. */
  readonly layout?: Layout
  /** The size along each axis, `[]` for a scalar; by default one axis. */
  readonly shape?: readonly number[]
  /**
   * The policy for lone surrogates, which UTF-8 cannot encode: `replace` (U+FFFD, the default) or `throw`. `latin1` writes
   * each character as one byte instead of UTF-8. Bytes (Uint8Array) are always written unchanged.
   */
  readonly invalid?: InvalidText
}

export function partsFrom(values: readonly Text[], options: FromOptions | undefined): Parts {
  if (!Array.isArray(values)) throw argumentError('strings', 'an array', values)
  const checked = checkOptions(options, [...layoutOptions, 'layout', 'shape', 'invalid'])
  const { layout = 'tf', allocator = gcAllocator } = checked
  const policy = policyOf(checked.invalid)
  const shape = checkShape(checked.shape, values.length)
  const placement = placementOf(layout, checked)
  if (layout !== 'tf' || placement.form !== FORM.POINTER || !placement.isInline) {
    return convertTo(encodePacked(values, policy), undefined, shape, placement, allocator)
  }
  const table = allocator.allocate(24 * values.length, TABLE_ALIGNMENT)
  checkWritable(table)
  table.block.bytes.fill(0, table.base, table.base + table.byteSize)
  const regions = new Regions()
  const image = { layout, abi: hostAbi, count: values.length, table, data: table, regions, foreign: false }
  const parts = arenaParts(image, shape, allocator)
  const sums = encodeArena(values, table, parts.arena!, policy)
  return { ...parts, image: { ...image, sums } }
}

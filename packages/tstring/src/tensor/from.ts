import { ArgumentError, gcAllocator } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { FORM } from '../kernels/plan.ts'
import { hostAbi } from '../layouts/abi.ts'
import type { Layout } from '../layouts/layout.ts'
import { Arena } from '../memory/arena.ts'
import { checkWritable } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { checkPolicy, type InvalidText } from '../text/decode.ts'
import type { Text } from '../text/encode.ts'
import { convertTo, placementOf, TABLE_ALIGNMENT, type LayoutOptions } from './convert-to.ts'
import { encodeArena } from './encode-arena.ts'
import { encodePacked } from './encode-packed.ts'
import type { Parts } from './parts.ts'
import { checkShape } from './shape.ts'

/** How a tensor is made of strings. */
export interface FromOptions extends LayoutOptions {
  /** `tf` without it. */
  readonly layout?: Layout
  /** The size along each axis; one axis without it, `[]` for a scalar. */
  readonly shape?: readonly number[]
  /**
   * What becomes of lone surrogates, which UTF-8 lacks: `replace` (U+FFFD, the default) or `throw`. `latin1` writes each
   * character as one byte instead of UTF-8. Bytes (Uint8Array) are always written as they are.
   */
  readonly invalid?: InvalidText
}

/** The parts of `StringTensor.from`. */
export function partsFrom(values: readonly Text[], options: FromOptions): Parts {
  if (!Array.isArray(values)) throw new ArgumentError(`strings must be an array, got ${describe(values)}`)
  const { layout = 'tf', allocator = gcAllocator } = options
  const policy = checkPolicy(options.invalid ?? 'replace')
  const shape = checkShape(options.shape, values.length)
  const placement = placementOf(layout, options)
  if (layout !== 'tf' || placement.plan.form !== FORM.POINTER || !placement.plan.isInline) {
    return convertTo(encodePacked(values, policy), undefined, shape, placement, allocator)
  }
  const table = allocator.allocate(24 * values.length, TABLE_ALIGNMENT)
  checkWritable(table)
  table.block.bytes.fill(0, table.base, table.base + table.byteSize)
  const regions = new Regions()
  const arena = new Arena(allocator, regions)
  const sums = encodeArena(values, table, arena, policy)
  const image = { layout, abi: hostAbi, count: values.length, table, data: table, regions, foreign: false, sums }
  const common = { shape, segment: table, allocator, arena, blocks: undefined, isWritable: true }
  return { ...common, image, storage: 'arena' }
}

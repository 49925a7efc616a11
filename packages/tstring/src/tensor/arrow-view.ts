import * as types from 'node:util/types'
import { gcAllocator, type Segment } from '@tenon/core'
import { type Block, checkOptions, checkSize, checkUsable, fillBytes } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { ruleError } from '../errors/rules.ts'
import type { Image } from '../image/image.ts'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { smallCapacity } from '../layouts/layout.ts'
import { writePointer } from '../layouts/struct-words.ts'
import { allocateFrom, segmentOver } from '../memory/open.ts'
import { Regions, startOf } from '../memory/regions.ts'
import { arrowOptions, countOf, toArrow, type OfArrowOptions } from './arrow.ts'
import { convertTo, placementOf, TABLE_ALIGNMENT } from './convert-to.ts'
import { arenaParts, type Parts } from './parts.ts'
import { checkShape } from './shape.ts'
import { isNull, readValidity, type ArrowNulls, type ValidityOptions } from './validity.ts'

/** Arrow's Utf8View: the content of an Arrow `Data`. */
export interface ArrowUtf8View extends ArrowNulls {
  readonly length: number
  /** The 16 bytes of each view: its size, then up to 12 bytes, or 4 bytes, the number of a buffer and an offset into it. */
  readonly views: Uint8Array
  readonly buffers: readonly Uint8Array[]
}

const VIEW = 16

/** The most bytes that a view holds itself. */
const INLINE = 12

export function partsOfViews(
  views: Uint8Array,
  buffers: readonly Uint8Array[],
  options: OfArrowOptions | undefined,
): Parts {
  const checked = checkOptions(options, arrowOptions)
  const { layout = 'tf', allocator = gcAllocator, shape: sizes, budget: most, length } = checked
  const { validity, validityOffset } = checked
  const placement = placementOf(layout, checked)
  const limit = most === undefined ? undefined : checkSize(most, 'budget')
  const blocks = new Map<ArrayBufferLike, Block>()
  const data = segmentsOfBuffers(buffers, blocks)
  if (!types.isUint8Array(views)) throw argumentError('views', 'a Uint8Array', views)
  const source = segmentOver(views, 'views', blocks)
  if (source.byteSize % VIEW !== 0) throw argumentError('views', '16 bytes for each string', views)
  const count = countOf(length, source.byteSize / VIEW)
  const shape = checkShape(sizes, count)
  const { validity: bits } = readValidity({ validity, validityOffset }, count)
  const budget = limit ?? data.reduce((sum, { byteSize }) => sum + byteSize, count * INLINE)
  const isBorrowed = layout === 'tf' && placement.storage === 'arena'
  const table = allocateFrom(isBorrowed ? allocator : gcAllocator, 24 * count, TABLE_ALIGNMENT)
  // The allocator may have transferred a buffer away.
  for (const { block } of [...data, source]) checkUsable(block)
  const sums = writeStructs(table, source, data, count, bits, budget)
  const regions = new Regions(data)
  const image = { layout: 'tf', abi: hostAbi, count, table, data: table, regions, foreign: false, sums } as const
  if (isBorrowed) return arenaParts(image, shape, allocator)
  return convertTo(image, undefined, shape, placement, allocator)
}

function segmentsOfBuffers(buffers: readonly Uint8Array[], blocks: Map<ArrayBufferLike, Block>): Segment[] {
  if (!Array.isArray(buffers)) throw argumentError('buffers', 'an array of Uint8Arrays', buffers)
  const { length } = buffers
  const segments: Segment[] = []
  for (let i = 0; i < length; i++) {
    const bytes: unknown = buffers[i]
    if (!types.isUint8Array(bytes)) throw argumentError(`buffers[${i}]`, 'a Uint8Array', bytes)
    segments.push(segmentOver(bytes, `buffers[${i}]`, blocks))
  }
  return segments
}

/** Writes a SMALL for each view that holds its bytes or is null, and a VIEW for each other. Each word is read once. */
function writeStructs(
  table: Segment,
  { block, base }: Segment,
  data: readonly Segment[],
  count: number,
  validity: Uint8Array | undefined,
  budget: number,
): { total: number; notSmall: number } {
  const { view: to, bytes } = table.block
  fillBytes(bytes, 0, table.base, table.base + table.byteSize)
  let [total, notSmall] = [0, 0]
  for (let i = 0, from = base, at = table.base; i < count; i++, from += VIEW, at += 24) {
    if (isNull(validity, i)) continue
    const size = block.view.getUint32(from, hostLittleEndian)
    if (size > budget - total) throw ruleError('budget', i, size, budget - total)
    total += size
    if (size <= INLINE) {
      bytes[at] = size << 2
      for (let k = 1; k <= size; k++) bytes[at + k] = block.bytes[from + 3 + k]!
      continue
    }
    const segment = data[block.view.getUint32(from + 8, hostLittleEndian)]
    const offset = block.view.getUint32(from + 12, hostLittleEndian)
    const limit = segment?.byteSize ?? 0
    if (segment === undefined || offset + size > limit) throw ruleError('arrow-range', i, offset + size, limit)
    writePointer(to, at, 'tf', startOf(segment) + offset, size)
    if (size > smallCapacity('tf')) notSmall += size
  }
  return { total, notSmall }
}

/** Returns the strings for Arrow's Utf8View. Data in the right order is not copied. */
export function toArrowView(image: Image, options: ValidityOptions): ArrowUtf8View {
  const { length, offsets, data, validity, nullCount } = toArrow(image, false, options)
  const views = new Uint8Array(VIEW * length)
  const words = new DataView(views.buffer)
  let isUsed = false
  for (let i = 0, at = 0; i < length; i++, at += VIEW) {
    if (isNull(validity, i)) continue
    const start = Number(offsets[i])
    const size = Number(offsets[i + 1]) - start
    words.setInt32(at, size, hostLittleEndian)
    const shown = size <= INLINE ? size : 4
    for (let k = 0; k < shown; k++) views[at + 4 + k] = data[start + k]!
    if (size <= INLINE) continue
    isUsed = true
    words.setInt32(at + 12, start, hostLittleEndian)
  }
  return { length, views, buffers: isUsed ? [data] : [], validity, nullCount }
}

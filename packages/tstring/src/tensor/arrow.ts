import { ArgumentError, gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { checkUsable, describe, type Block } from '@tenon/core/internal'
import { ruleError } from '../errors/rules.ts'
import { segmentsOf, type Image } from '../image/image.ts'
import { readerOf } from '../image/reader-of.ts'
import { convert, measure, validate } from '../kernels/native.ts'
import { FORM } from '../kernels/plan.ts'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { INT32_MAXIMUM } from '../layouts/layout.ts'
import { segmentOver } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { Arena } from '../memory/arena.ts'
import { convertTo, placementOf, TABLE_ALIGNMENT, type LayoutOptions } from './convert-to.ts'
import type { Layout } from '../layouts/layout.ts'
import type { Parts } from './parts.ts'
import { checkShape, COUNT_MAXIMUM } from './shape.ts'

/** Arrow's Utf8 (offsets of 32 bits) or LargeUtf8 (of 64), without nulls: what an Arrow `Data` is made of. */
export interface ArrowUtf8 {
  readonly length: number
  /** length + 1 of them. The first is not always 0, as Arrow allows. */
  readonly offsets: Int32Array | BigInt64Array
  readonly data: Uint8Array
}

/** How a tensor is made of Arrow's buffers. */
export interface FromArrowOptions extends LayoutOptions {
  /** `tf` without it: the data is not copied. Other layouts hold a copy. */
  readonly layout?: Layout
  readonly shape?: readonly number[]
  /** The most bytes that all strings together may have; the size of the data without it. */
  readonly budget?: number
}

/** The parts of `StringTensor.fromArrowUtf8`. */
export function partsFromArrow(
  data: Uint8Array,
  offsets: Int32Array | BigInt64Array,
  { layout = 'tf', shape, budget = data.byteLength, allocator = gcAllocator, ...options }: FromArrowOptions,
): Parts {
  const bare = arrowImage(data, offsets)
  const image = { ...bare, sums: validate(bare, { strict: true, writable: false, budget }) }
  const checked = checkShape(shape, image.count)
  const isBorrowed = layout === 'tf' && (options.storage ?? 'arena') === 'arena' && (options.abi ?? hostAbi) === hostAbi
  if (!isBorrowed) return convertTo(image, undefined, checked, placementOf(layout, options), allocator)
  return borrow(image, checked, allocator)
}

/** A table of VIEWs onto bytes that somebody else has. */
function borrow(image: Image, shape: readonly number[], allocator: NativeAllocator): Parts {
  const { count, data } = image
  const plan = { layout: 'tf', abi: hostAbi, form: FORM.BORROWED, isInline: false } as const
  const table = allocator.allocate(24 * count, TABLE_ALIGNMENT)
  convert(image, undefined, count, { ...plan, table, data: table.asSlice(24 * count) })
  const regions = new Regions([data])
  return {
    image: { layout: 'tf', abi: hostAbi, count, table, data: table, regions, foreign: false, sums: image.sums },
    shape,
    segment: table,
    storage: 'arena',
    allocator,
    arena: new Arena(allocator, regions),
    blocks: undefined,
    isWritable: true,
  }
}

function arrowImage(data: Uint8Array, offsets: Int32Array | BigInt64Array): Image {
  if (!(data instanceof Uint8Array)) throw new ArgumentError(`data must be a Uint8Array, got ${describe(data)}`)
  if (!(offsets instanceof Int32Array) && !(offsets instanceof BigInt64Array)) {
    throw new ArgumentError(
      `offsets must be an Int32Array (Utf8) or a BigInt64Array (LargeUtf8), got ${describe(offsets)}`,
    )
  }
  const count = Math.max(offsets.length - 1, 0)
  if (count > COUNT_MAXIMUM) throw ruleError('table-size', count, offsets.byteLength, 8)
  return {
    layout: offsets instanceof Int32Array ? 'arrow32' : 'arrow64',
    abi: hostAbi,
    count,
    table: segmentOver(offsets, 'offsets'),
    data: segmentOver(data, 'data'),
    regions: undefined,
    foreign: false,
  }
}

/** The strings of an image as Arrow has them: without a copy of the data where they lie in order already. */
export function toArrow(image: Image, large: boolean): ArrowUtf8 {
  for (const { block } of segmentsOf(image)) checkUsable(block)
  return (large ? undefined : ofTflite(image)) ?? inOrder(image, large) ?? gathered(image, large)
}

/** TFLite's offsets are Arrow's as they are: they count from the buffer's start. */
function ofTflite({ layout, abi, count, table, data }: Image): ArrowUtf8 | undefined {
  const { buffer, byteOffset } = table.block.view
  const at = byteOffset + table.base + 4
  const isHost = abi.startsWith(hostLittleEndian ? 'le' : 'be')
  if (layout !== 'tflite' || !isHost || at % 4 !== 0 || table.byteSize < 8 || table.readOnly || data.readOnly)
    return undefined
  table.block.exposed = true
  return { length: count, offsets: new Int32Array(buffer as ArrayBuffer, at, count + 1), data: viewOf(data) }
}

/** Strings that follow each other without a gap need new offsets only. */
function inOrder(image: Image, large: boolean): ArrowUtf8 | undefined {
  const { count } = image
  if (image.foreign || segmentsOf(image).some(({ readOnly }) => readOnly)) return undefined
  const reader = readerOf(image)
  const offsets = new Float64Array(count + 1)
  let block: Block | undefined
  let [first, end] = [0, 0]
  for (let i = 0; i < count; i++) {
    reader.locate(i)
    if (reader.size !== 0) {
      if (block === undefined) [block, first, end] = [reader.block, reader.start, reader.start]
      if (reader.block !== block || reader.start !== end) return undefined
      end += reader.size
    }
    offsets[i + 1] = end - first
  }
  if (block === undefined || (!large && end - first > INT32_MAXIMUM)) return undefined
  block.exposed = true
  const data = new Uint8Array(block.bytes.buffer, block.bytes.byteOffset + first, end - first)
  return { length: count, offsets: large ? BigInt64Array.from(offsets, BigInt) : Int32Array.from(offsets), data }
}

/** Copies the strings one behind the other. */
function gathered(image: Image, large: boolean): ArrowUtf8 {
  const { length, offsets, data } = gather(image, large)
  const array = large
    ? new BigInt64Array(
        offsets.block.view.buffer as ArrayBuffer,
        offsets.base + offsets.block.view.byteOffset,
        length + 1,
      )
    : new Int32Array(offsets.block.view.buffer as ArrayBuffer, offsets.base + offsets.block.view.byteOffset, length + 1)
  return { length, offsets: array, data: viewOf(data) }
}

/** The strings copied one behind the other, with where each ends. */
export function gather(image: Image, large: boolean): { length: number; offsets: Segment; data: Segment } {
  const { count } = image
  const plan = { layout: large ? 'arrow64' : 'arrow32', abi: hostAbi, form: FORM.OFFSET, isInline: false } as const
  const { tableSize, dataSize } = measure(image, undefined, count, plan)
  const [table, data] = [gcAllocator.allocate(tableSize, 64), gcAllocator.allocate(dataSize, 64)]
  convert(image, undefined, count, { ...plan, table, data })
  return { length: count, offsets: table, data }
}

function viewOf(segment: Segment): Uint8Array {
  const { buffer, byteOffset, byteLength } = segment.view()
  return new Uint8Array(buffer, byteOffset, byteLength)
}

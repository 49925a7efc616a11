import { types } from 'node:util'
import { gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { checkOptions, checkSize, checkUsable, expose, type Block } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { ruleError } from '../errors/rules.ts'
import { segmentsOf, type Image } from '../image/image.ts'
import { readerOf } from '../image/reader-of.ts'
import { convert, measure, validate } from '../kernels/kernels.ts'
import { FORM } from '../kernels/plan.ts'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { INT32_MAXIMUM, type Layout } from '../layouts/layout.ts'
import { allocateFrom, segmentOver } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { convertTo, layoutOptions, placementOf, TABLE_ALIGNMENT, type LayoutOptions } from './convert-to.ts'
import { arenaParts, type Parts } from './parts.ts'
import { checkShape, COUNT_MAXIMUM } from './shape.ts'

/** Arrow's Utf8 (offsets of 32 bits) or LargeUtf8 (of 64 bits) without nulls: the content of an Arrow `Data`. */
export interface ArrowUtf8 {
  readonly length: number
  /** `length + 1` offsets. Arrow allows that the first is not 0. */
  readonly offsets: Int32Array | BigInt64Array
  readonly data: Uint8Array
}

/** Options of `StringTensor.ofArrowUtf8`. */
export interface OfArrowOptions extends LayoutOptions {
  /** The layout; by default `tf`, which does not copy the data. Other layouts copy it. */
  readonly layout?: Layout
  /** The size along each axis; by default one axis. */
  readonly shape?: readonly number[]
  /** The most bytes that all strings together may have; by default the size of the data. */
  readonly budget?: number
}

export function partsOfArrow(data: Uint8Array, offsets: ArrowUtf8['offsets'], options?: OfArrowOptions): Parts {
  const checked = checkOptions(options, [...layoutOptions, 'layout', 'shape', 'budget'])
  const { layout = 'tf', allocator = gcAllocator, shape: sizes, budget: most } = checked
  const placement = placementOf(layout, checked)
  const bare = arrowImage(data, offsets)
  const shape = checkShape(sizes, bare.count)
  const budget = most === undefined ? bare.data.byteSize : checkSize(most, 'budget')
  const image = { ...bare, sums: validate(bare, { strict: true, writable: false, budget }) }
  if (layout === 'tf' && placement.storage === 'arena') return borrow(image, shape, allocator)
  return convertTo(image, undefined, shape, placement, allocator)
}

/** Returns a table of VIEWs onto the image's data, which is not copied. */
function borrow(image: Image, shape: readonly number[], allocator: NativeAllocator): Parts {
  const { count, data, sums } = image
  const plan = { layout: 'tf', abi: hostAbi, form: FORM.BORROWED, isInline: false } as const
  const table = allocateFrom(allocator, 24 * count, TABLE_ALIGNMENT)
  convert(image, undefined, count, { ...plan, table, data: table.asSlice(24 * count) })
  const regions = new Regions([data])
  const viewed = { layout: 'tf', abi: hostAbi, count, table, data: table, regions, foreign: false, sums } as const
  return arenaParts(viewed, shape, allocator)
}

function arrowImage(data: Uint8Array, offsets: ArrowUtf8['offsets']): Image {
  if (!types.isUint8Array(data)) throw argumentError('data', 'a Uint8Array', data)
  const isNarrow = types.isInt32Array(offsets)
  if (!isNarrow && !types.isBigInt64Array(offsets)) {
    throw argumentError('offsets', 'an Int32Array (Utf8) or a BigInt64Array (LargeUtf8)', offsets)
  }
  const table = segmentOver(offsets, 'offsets')
  const size = isNarrow ? 4 : 8
  const count = Math.max(table.byteSize / size - 1, 0)
  if (count > COUNT_MAXIMUM) throw ruleError('table-size', count, table.byteSize, size)
  return {
    layout: isNarrow ? 'arrow32' : 'arrow64',
    abi: hostAbi,
    count,
    table,
    data: segmentOver(data, 'data'),
    regions: undefined,
    foreign: false,
  }
}

/** Returns the strings of an image for Arrow. Data in the right order is not copied. */
export function toArrow(image: Image, large: boolean): ArrowUtf8 {
  for (const { block } of segmentsOf(image)) checkUsable(block)
  return (large ? undefined : ofTflite(image)) ?? inOrder(image, large) ?? copied(image, large)
}

/**
 * TFLite's offsets count from the buffer's start, so they serve as Arrow's. They are copied and then checked, because Arrow
 * trusts them, and others may change the buffer.
 */
function ofTflite({ layout, abi, count, table, data }: Image): ArrowUtf8 | undefined {
  const isHost = abi.startsWith(hostLittleEndian ? 'le' : 'be')
  if (layout !== 'tflite' || !isHost || table.byteSize < 4 * (count + 2) || table.readOnly || data.readOnly)
    return undefined
  const offsets = new Int32Array(count + 1)
  const start = table.base + 4
  table.block.bytes.copy(new Uint8Array(offsets.buffer), 0, start, start + offsets.byteLength)
  let previous = 0
  for (let i = 0; i <= count; i++) {
    const offset = offsets[i]!
    if (offset < previous) throw ruleError('tflite-order', i, offset, previous)
    previous = offset
  }
  if (previous > data.byteSize) throw ruleError('tflite-range', count, previous, data.byteSize)
  return { length: count, offsets, data: viewOf(data) }
}

/** Strings that follow each other without gaps need only new offsets. */
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
  expose(block)
  const data = new Uint8Array(block.bytes.buffer, block.bytes.byteOffset + first, end - first)
  return { length: count, offsets: large ? BigInt64Array.from(offsets, BigInt) : Int32Array.from(offsets), data }
}

function copied(image: Image, large: boolean): ArrowUtf8 {
  const { offsets, data } = gather(image, large)
  const { buffer, byteOffset } = viewOf(offsets)
  const length = image.count
  const OffsetArray = large ? BigInt64Array : Int32Array
  return { length, offsets: new OffsetArray(buffer, byteOffset, length + 1), data: viewOf(data) }
}

/** Copies the strings one behind the other. Returns their offsets and bytes. */
export function gather(image: Image, large: boolean): { offsets: Segment; data: Segment } {
  const { count } = image
  const plan = { layout: large ? 'arrow64' : 'arrow32', abi: hostAbi, form: FORM.OFFSET, isInline: false } as const
  const { tableSize, dataSize } = measure(image, undefined, count, plan)
  const [table, data] = [gcAllocator.allocate(tableSize, 64), gcAllocator.allocate(dataSize, 64)]
  convert(image, undefined, count, { ...plan, table, data })
  return { offsets: table, data }
}

function viewOf(segment: Segment): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = segment.view()
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
}

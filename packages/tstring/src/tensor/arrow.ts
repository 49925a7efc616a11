import * as types from 'node:util/types'
import { gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { type Block, checkOptions, checkSize, checkUsable, expose, fillBytes, wrongValue } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { ruleError } from '../errors/rules.ts'
import { segmentsOf, type Image } from '../image/image.ts'
import { readerOf } from '../image/reader-of.ts'
import { convert, measure, validate } from '../kernels/kernels.ts'
import { FORM } from '../kernels/plan.ts'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { INT32_MAXIMUM, type Layout } from '../layouts/layout.ts'
import { copyRange } from '../memory/copy-range.ts'
import { allocateFrom, segmentOver } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { convertTo, layoutOptions, placementOf, TABLE_ALIGNMENT, type LayoutOptions } from './convert-to.ts'
import { arenaParts, type Parts } from './parts.ts'
import { checkShape, COUNT_MAXIMUM } from './shape.ts'
import { isNull, readValidity, validityOptions, type ArrowNulls, type ValidityOptions } from './validity.ts'

/** Arrow's Utf8 (offsets of 32 bits) or LargeUtf8 (of 64 bits): the content of an Arrow `Data`. */
export interface ArrowUtf8 extends ArrowNulls {
  readonly length: number
  /** `length + 1` offsets. Arrow allows that the first is not 0. */
  readonly offsets: Int32Array | BigInt64Array
  readonly data: Uint8Array
}

/** Options of `StringTensor.ofArrowUtf8` and `StringTensor.ofArrowUtf8View`. */
export interface OfArrowOptions extends LayoutOptions, ValidityOptions {
  /** The layout; by default `tf`, which does not copy the data. Other layouts copy it. */
  readonly layout?: Layout
  /** The number of strings; by default all. Pass Arrow's number, because Arrow pads its buffers. */
  readonly length?: number
  /** The size along each axis; by default one axis. */
  readonly shape?: readonly number[]
  /** The most bytes that all strings together may have; by default the size of the data. */
  readonly budget?: number
}

export const arrowOptions: readonly (keyof OfArrowOptions & string)[] = [
  ...layoutOptions,
  'layout',
  'length',
  'shape',
  'budget',
  ...validityOptions,
]

export function partsOfArrow(data: Uint8Array, offsets: ArrowUtf8['offsets'], options?: OfArrowOptions): Parts {
  const checked = checkOptions(options, arrowOptions)
  const { layout = 'tf', allocator = gcAllocator, shape: sizes, budget: most, length } = checked
  const { validity, validityOffset } = checked
  const placement = placementOf(layout, checked)
  const limit = most === undefined ? undefined : checkSize(most, 'budget')
  const bare = arrowImage(data, offsets, length)
  const shape = checkShape(sizes, bare.count)
  const { validity: bits } = readValidity({ validity, validityOffset }, bare.count)
  const sums = validate(bare, { strict: true, writable: false, budget: limit ?? bare.data.byteSize })
  const image = { ...bare, sums }
  if (layout === 'tf' && placement.storage === 'arena') return borrow(image, bits, shape, allocator)
  const source = bits === undefined ? image : borrow(image, bits, shape, gcAllocator).image
  return convertTo(source, undefined, shape, placement, allocator)
}

/** Returns a table of VIEWs onto the image's data, which is not copied. Nulls become empty. */
function borrow(
  image: Image,
  validity: Uint8Array | undefined,
  shape: readonly number[],
  allocator: NativeAllocator,
): Parts {
  const { count, data } = image
  const plan = { layout: 'tf', abi: hostAbi, form: FORM.BORROWED, isInline: false } as const
  const table = allocateFrom(allocator, 24 * count, TABLE_ALIGNMENT)
  convert(image, undefined, count, { ...plan, table, data: table.asSlice(24 * count) })
  if (validity !== undefined) clearNulls(table, count, validity)
  const regions = new Regions([data])
  const sums = validity === undefined ? image.sums : undefined
  const viewed = { layout: 'tf', abi: hostAbi, count, table, data: table, regions, foreign: false, sums } as const
  return arenaParts(viewed, shape, allocator)
}

function clearNulls({ block, base }: Segment, count: number, validity: Uint8Array): void {
  for (let i = 0; i < count; i++) if (isNull(validity, i)) fillBytes(block.bytes, 0, base + 24 * i, base + 24 * i + 24)
}

function arrowImage(data: Uint8Array, offsets: ArrowUtf8['offsets'], length: number | undefined): Image {
  if (!types.isUint8Array(data)) throw argumentError('data', 'a Uint8Array', data)
  const isNarrow = types.isInt32Array(offsets)
  if (!isNarrow && !types.isBigInt64Array(offsets)) {
    throw argumentError('offsets', 'an Int32Array (Utf8) or a BigInt64Array (LargeUtf8)', offsets)
  }
  const whole = segmentOver(offsets, 'offsets')
  const size = isNarrow ? 4 : 8
  const count = countOf(length, Math.max(whole.byteSize / size - 1, 0))
  return {
    layout: isNarrow ? 'arrow32' : 'arrow64',
    abi: hostAbi,
    count,
    table: whole.byteSize === 0 ? whole : whole.asSlice(0, size * (count + 1)),
    data: segmentOver(data, 'data'),
    regions: undefined,
    foreign: false,
  }
}

/** Returns the number of strings, of which the buffers have `available`. @throws {ArgumentError} if there are fewer */
export function countOf(length: number | undefined, available: number): number {
  const count = length === undefined ? available : checkSize(length, 'length', 'strings')
  if (count <= Math.min(available, COUNT_MAXIMUM)) return count
  throw wrongValue('length', `at most the ${available} strings of the buffers, and below 2^32`, count)
}

/** Returns the strings of an image for Arrow. Data in the right order is not copied. */
export function toArrow(image: Image, large: boolean, options: ValidityOptions): ArrowUtf8 {
  const nulls = readValidity(options, image.count)
  for (const { block } of segmentsOf(image)) checkUsable(block)
  const strings = (large ? undefined : ofTflite(image)) ?? inOrder(image, large) ?? copied(image, large)
  return { ...strings, ...nulls }
}

type Strings = Omit<ArrowUtf8, keyof ArrowNulls>

/**
 * TFLite's offsets count from the buffer's start, so they serve as Arrow's. They are copied and then checked, because Arrow
 * trusts them, and others may change the buffer.
 */
function ofTflite({ layout, abi, count, table, data }: Image): Strings | undefined {
  const isHost = abi.startsWith(hostLittleEndian ? 'le' : 'be')
  if (layout !== 'tflite' || !isHost || table.byteSize < 4 * (count + 2) || table.readOnly || data.readOnly)
    return undefined
  const offsets = new Int32Array(count + 1)
  const start = table.base + 4
  copyRange(table.block.bytes, start, offsets.byteLength, new Uint8Array(offsets.buffer), 0)
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
function inOrder(image: Image, large: boolean): Strings | undefined {
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

function copied(image: Image, large: boolean): Strings {
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

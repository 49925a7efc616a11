import { CHECK, faultError, type Check } from '../errors/checks.ts'
import type { Image, Sums } from '../image/image.ts'
import { LegacyReader } from '../image/legacy-reader.ts'
import { readerOf } from '../image/reader-of.ts'
import { TfliteReader } from '../image/tflite-reader.ts'
import { abiInfo } from '../layouts/abi.ts'
import { INT32_MAXIMUM, isStructLayout, smallCapacity, structSize, TYPE, type StructLayout } from '../layouts/layout.ts'
import { varintSize } from '../layouts/varint.ts'

interface Options {
  readonly strict: boolean
  readonly writable: boolean
  readonly budget: number
}

/** Validates a tensor whose table was found large enough; returns the sums of its sizes. @throws {MalformedTensorError} */
export function validate(image: Image, options: Options): Sums {
  const { layout } = image
  if (isStructLayout(layout)) return validateStructs(image, layout, options)
  if (layout === 'legacy') return validateLegacy(image, options)
  return layout === 'tflite' ? validateTflite(image, options) : validateArrow(image, options)
}

/** The most bytes of a shipped SMALL. */
const SMALL = smallCapacity('tf')

function fail(check: Check, index: number, value: number, limit: number): never {
  throw faultError({ check, index, value, limit })
}

/** The sum of sizes, bounded: many elements may name the same bytes. */
class Sum implements Sums {
  total = 0
  notSmall = 0
  readonly #budget: number

  constructor(budget: number) {
    this.#budget = budget
  }

  add(index: number, size: number): void {
    const left = this.#budget - this.total
    if (size > left) fail(CHECK.BUDGET, index, size, left)
    this.total += size
    if (size > SMALL) this.notSmall += size
  }
}

function validateStructs(image: Image, layout: StructLayout, { strict, writable, budget }: Options): Sums {
  const { count, table, data } = image
  const [stride, small] = [structSize(layout), smallCapacity(layout)]
  const { bytes, view } = table.block
  const sum = new Sum(budget)
  const extents: { start: number; end: number; index: number }[] = []
  for (let i = 0; i < count; i++) {
    const at = table.base + i * stride
    const head = bytes[at]!
    if ((head & 3) === TYPE.SMALL) {
      const size = head >>> 2
      if (size > small) fail(CHECK.SMALL_SIZE, i, size, small)
      const terminator = bytes[at + 1 + size]!
      if (strict && layout === 'tf' && terminator !== 0) fail(CHECK.SMALL_NUL, i, terminator, size)
      sum.add(i, size)
    } else if ((head & 3) === TYPE.OFFSET) {
      const size = view.getUint32(at, true) >>> 2
      const start = i * stride + view.getUint32(at + 4, true)
      if (start < count * stride) fail(CHECK.OFFSET_START, i, start, count * stride)
      if (start + size > data.byteSize) fail(CHECK.OFFSET_END, i, start + size, data.byteSize)
      sum.add(i, size)
      if (writable && size > 0) extents.push({ start, end: start + size, index: i })
    } else {
      fail(CHECK.STRUCT_TYPE, i, head & 3, 0)
    }
  }
  extents.sort((a, b) => a.start - b.start || a.index - b.index)
  for (let i = 1; i < extents.length; i++) {
    const [before, extent] = [extents[i - 1]!, extents[i]!]
    if (extent.start < before.end) fail(CHECK.OVERLAP, extent.index, extent.start, before.end)
  }
  return sum
}

function validateLegacy(image: Image, { strict, budget }: Options): Sums {
  const { count, data } = image
  if (data.byteSize < 8 * count) fail(CHECK.TABLE_SIZE, count, data.byteSize, 8)
  const rest = data.byteSize - 8 * count
  const reader = new LegacyReader(image)
  const sum = new Sum(budget)
  let expected = 0
  for (let i = 0; i < count; i++) {
    const offset = reader.offsetOf(i)
    if (offset >= rest) fail(CHECK.LEGACY_OFFSET, i, offset, rest)
    if (strict && offset !== expected) fail(CHECK.LEGACY_TIGHT, i, offset, expected)
    reader.locate(i)
    const prefix = reader.start - (data.base + 8 * count + offset)
    const canonical = varintSize(reader.size)
    if (strict && prefix !== canonical) fail(CHECK.VARINT_CANONICAL, i, prefix, canonical)
    expected = offset + prefix + reader.size
    sum.add(i, reader.size)
  }
  if (strict && expected !== rest) fail(CHECK.LEGACY_TIGHT, count, rest, expected)
  return sum
}

function validateTflite(image: Image, { strict, budget }: Options): Sums {
  const { count, table, data } = image
  if (table.byteSize === 0 && count === 0 && !strict) return new Sum(0)
  if (table.byteSize < 8 || data.byteSize < 8) fail(CHECK.TFLITE_HEADER, 0, data.byteSize, 8)
  const stated = table.block.view.getUint32(table.base, abiInfo(image.abi).littleEndian)
  if (stated > INT32_MAXIMUM - 2) fail(CHECK.TFLITE_COUNT, 0, stated, INT32_MAXIMUM - 2)
  if (stated !== count) fail(CHECK.TFLITE_COUNT, 0, stated, count)
  const header = 4 * (count + 2)
  if (data.byteSize < header) fail(CHECK.TFLITE_HEADER, 0, data.byteSize, header)
  const reader = new TfliteReader(image)
  const sum = new Sum(budget)
  let previous = header
  for (let i = 0; i <= count; i++) {
    const offset = reader.offsetOf(i)
    if (offset < header || offset > data.byteSize || offset > INT32_MAXIMUM)
      fail(CHECK.TFLITE_RANGE, i, offset, data.byteSize)
    if (offset < previous) fail(CHECK.TFLITE_ORDER, i, offset, previous)
    if (strict && i === 0 && offset !== header) fail(CHECK.TFLITE_FIRST, 0, offset, header)
    if (i > 0) sum.add(i - 1, offset - previous)
    previous = offset
  }
  if (strict && previous !== data.byteSize) fail(CHECK.TFLITE_TOTAL, count, previous, data.byteSize)
  return sum
}

function validateArrow(image: Image, { budget }: Options): Sums {
  const reader = readerOf(image)
  const sum = new Sum(budget)
  for (let i = 0; i < image.count; i++) {
    reader.locate(i)
    sum.add(i, reader.size)
  }
  return sum
}

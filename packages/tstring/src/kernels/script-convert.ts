import { ArgumentError, type Segment } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { CHECK, faultError, type Check } from '../errors/checks.ts'
import type { Reader } from '../image/reader.ts'
import { abiInfo, hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import {
  INT32_MAXIMUM,
  isStructLayout,
  OFFSET_STRING_MAXIMUM,
  smallCapacity,
  structSize,
  tableSize,
  type StructLayout,
} from '../layouts/layout.ts'
import { varintSize, writeVarint } from '../layouts/varint.ts'
import { startOf } from '../memory/regions.ts'
import { FORM, type Plan, type Sizes, type Target } from './kernels.ts'
import { narrowLimit, wordLimit, writePointer } from './struct-writer.ts'

type Selection = Uint32Array | undefined

function fail(check: Check, index: number, value: number, limit: number): never {
  throw faultError({ check, index, value, limit })
}

/** Finds the `k`th element to convert. */
function locate(reader: Reader, selection: Selection, k: number): void {
  const index = selection === undefined ? k : selection[k]!
  const { count } = reader.image
  if (index >= count) fail(CHECK.SELECTION, k, index, count)
  reader.locate(index)
}

function checkPlan({ layout, abi, form }: Plan): void {
  if (isStructLayout(layout) && form !== FORM.OFFSET && abi !== hostAbi) {
    throw new ArgumentError('pointers can be written only for the ABI of this machine')
  }
}

/** The bytes that a conversion needs. @throws {TensorLimitError} */
export function measure(reader: Reader, selection: Selection, count: number, plan: Plan): Sizes {
  checkPlan(plan)
  const { layout } = plan
  const table = tableSize(layout, count)
  if (isStructLayout(layout))
    return { tableSize: table, dataSize: measureStructs(reader, selection, count, plan, layout) }
  const limit = layout === 'tflite' || layout === 'arrow32' ? INT32_MAXIMUM : Number.MAX_SAFE_INTEGER
  const before = layout === 'tflite' ? table : 0
  if (before > limit) fail(CHECK.TOTAL_LIMIT, count, before, limit)
  let data = 0
  for (let k = 0; k < count; k++) {
    locate(reader, selection, k)
    data += reader.size + (layout === 'legacy' ? varintSize(reader.size) : 0)
    if (data > limit - before) fail(CHECK.TOTAL_LIMIT, k, data + before, limit)
  }
  return { tableSize: table, dataSize: data }
}

function measureStructs(reader: Reader, selection: Selection, count: number, plan: Plan, layout: StructLayout): number {
  const { form, isInline } = plan
  const stride = structSize(layout)
  const limit =
    form === FORM.OFFSET ? OFFSET_STRING_MAXIMUM : layout === 'tf' || form === FORM.BLOCK ? wordLimit : narrowLimit
  let data = 0
  for (let k = 0; k < count; k++) {
    locate(reader, selection, k)
    const { size } = reader
    if (size > limit) fail(CHECK.STRING_LIMIT, k, size, limit)
    if (isInline && size <= smallCapacity(layout)) continue
    const ahead = stride * (count - k) + data
    if (form === FORM.OFFSET && ahead >= 2 ** 32) fail(CHECK.DISTANCE_LIMIT, k, ahead, 2 ** 32 - 1)
    if (form === FORM.OFFSET || form === FORM.POINTER) data += size
  }
  return data
}

/** Writes the strings in another layout; returns the bytes of its data that were used. */
export function convert(reader: Reader, selection: Selection, count: number, target: Target): number {
  checkPlan(target)
  const { layout } = target
  // Blocks of malloc are made by the C core alone: this throws what kept it from loading.
  if (isStructLayout(layout) && target.form === FORM.BLOCK) coreLibrary()
  const writer = new Writer(target)
  for (let k = 0; k < count; k++) {
    locate(reader, selection, k)
    writer.index = k
    if (isStructLayout(layout)) writeStruct(writer, reader, layout, count)
    else writeRow(writer, reader)
  }
  if (!isStructLayout(layout)) writer.finish(count)
  return writer.at
}

/** Writes strings one behind the other into a target's data. */
class Writer {
  readonly target: Target
  index = 0
  /** Bytes written to the data. */
  at = 0

  constructor(target: Target) {
    this.target = target
  }

  /** Copies the located string; returns where it starts in the data. */
  put({ block: from, start, size }: Reader, before = 0): number {
    const { block, base, byteSize } = this.target.data
    if (before + size > byteSize - this.at) fail(CHECK.CHANGED, this.index, this.at, byteSize)
    const at = this.at + before
    from.bytes.copy(block.bytes, base + at, start, start + size)
    this.at = at + size
    return at
  }

  /** Writes where the strings of a table of offsets end, and TFLite's count. */
  finish(count: number): void {
    const { layout, abi, table } = this.target
    this.index = count
    if (layout === 'tflite') table.block.view.setUint32(table.base, count, abiInfo(abi).littleEndian)
    if (layout !== 'legacy') writeOffset(this)
  }
}

/** Writes where the next string starts: the end of the one before. */
function writeOffset({ target, index, at }: Writer): void {
  const { layout, abi, table } = target
  const { view } = table.block
  if (layout === 'tflite') view.setUint32(table.base + 4 + 4 * index, table.byteSize + at, abiInfo(abi).littleEndian)
  else if (layout === 'arrow32') view.setUint32(table.base + 4 * index, at, hostLittleEndian)
  else
    view.setBigUint64(
      table.base + 8 * index,
      BigInt(at),
      layout === 'legacy' ? abiInfo(abi).littleEndian : hostLittleEndian,
    )
}

function writeRow(writer: Writer, reader: Reader): void {
  const { layout, data } = writer.target
  writeOffset(writer)
  if (layout !== 'legacy') {
    writer.put(reader)
    return
  }
  const start = writer.put(reader, varintSize(reader.size)) - varintSize(reader.size)
  writeVarint(data.block.bytes, data.base + start, reader.size)
}

function writeStruct(writer: Writer, reader: Reader, layout: StructLayout, count: number): void {
  const { form, isInline, table, data } = writer.target
  const stride = structSize(layout)
  const at = table.base + writer.index * stride
  const { bytes, view } = table.block
  const { size } = reader
  bytes.fill(0, at, at + stride)
  if (isInline && size <= smallCapacity(layout)) {
    bytes[at] = size << 2
    reader.block.bytes.copy(bytes, at + 1, reader.start, reader.start + size)
  } else if (form === FORM.BORROWED) {
    writePointer(view, at, layout, size === 0 ? 0 : reader.block.address + reader.start, size)
  } else {
    const start = writer.put(reader)
    if (form === FORM.POINTER) writePointer(view, at, layout, startOf(data) + start, size)
    else {
      view.setUint32(at, (size * 4 + 2) >>> 0, true)
      view.setUint32(at + 4, distance(data, start, table, writer.index * stride), true)
      view.setUint32(at + 8, count, true)
    }
  }
}

function distance(data: Segment, start: number, table: Segment, at: number): number {
  return startOf(data) + start - (startOf(table) + at)
}

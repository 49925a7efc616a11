import { ruleError } from '../errors/rules.ts'
import { abiInfo, hostLittleEndian } from '../layouts/abi.ts'
import { INT32_MAXIMUM } from '../layouts/layout.ts'
import { lastVarint, readVarint } from '../layouts/varint.ts'
import type { Image } from './image.ts'
import { Reader, readUint64 } from './reader.ts'

// The readers of layouts that have a table of offsets. Offsets are read as unsigned numbers, so negative ones are huge.

/** Reads TFLite's string buffer: a count, offsets of 32 bits from the buffer's start, and bytes. */
export class TfliteReader extends Reader {
  readonly #littleEndian: boolean
  readonly #offsets: number
  readonly #view: DataView

  constructor(image: Image) {
    super(image)
    this.#littleEndian = abiInfo(image.abi).littleEndian
    this.#offsets = image.table.base + 4
    this.#view = image.table.block.view
  }

  override locate(index: number): void {
    const at = this.#offsets + 4 * index
    const start = this.#view.getUint32(at, this.#littleEndian)
    const end = this.#view.getUint32(at + 4, this.#littleEndian)
    const { base, byteSize } = this.image.data
    if (start > end || start > INT32_MAXIMUM) throw ruleError('tflite-order', index, start, end)
    if (end > byteSize) throw ruleError('tflite-range', index, end, byteSize)
    this.start = base + start
    this.size = end - start
  }
}

/** Reads TF_STRING before TensorFlow 2.4: offsets of 64 bits, then each string's length as a varint and its bytes. */
export class LegacyReader extends Reader {
  readonly #littleEndian: boolean
  /** The bytes behind the table. */
  readonly #rest: number

  constructor(image: Image) {
    super(image)
    this.#littleEndian = abiInfo(image.abi).littleEndian
    this.#rest = Math.max(image.data.byteSize - 8 * image.count, 0)
  }

  override locate(index: number): void {
    const { table, data } = this.image
    const offset = readUint64(table.block.view, table.base + 8 * index, this.#littleEndian)
    const rest = this.#rest
    if (offset >= rest) throw ruleError('legacy-offset', index, offset, rest)
    const end = data.base + data.byteSize
    const size = readVarint(data.block.bytes, end - rest + offset, end)
    if (Number.isNaN(size)) throw ruleError('varint', index, offset, rest)
    const start = lastVarint.end
    if (size > end - start) throw ruleError('legacy-length', index, size, end - start)
    this.start = start
    this.size = size
  }
}

/** Reads Arrow's Utf8 and LargeUtf8: count + 1 offsets in the byte order of this machine, beside the data. */
export class ArrowReader extends Reader {
  override locate(index: number): void {
    const start = this.#offsetOf(index)
    const end = this.#offsetOf(index + 1)
    const { base, byteSize } = this.image.data
    if (start > end) throw ruleError('arrow-order', index, start, end)
    if (end > byteSize) throw ruleError('arrow-range', index, end, byteSize)
    this.start = base + start
    this.size = end - start
  }

  #offsetOf(index: number): number {
    const { table, layout } = this.image
    const { view } = table.block
    if (layout === 'arrow64') return readUint64(view, table.base + 8 * index, hostLittleEndian)
    return view.getUint32(table.base + 4 * index, hostLittleEndian)
  }
}

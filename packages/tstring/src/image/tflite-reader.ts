import { ruleError } from '../errors/rules.ts'
import { abiInfo } from '../layouts/abi.ts'
import { INT32_MAXIMUM } from '../layouts/layout.ts'
import type { Image } from './image.ts'
import { Reader } from './reader.ts'

/** Reads TFLite's string buffer: a count, offsets of 32 bits from the buffer's start, bytes. */
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
    const start = this.offsetOf(index)
    const end = this.offsetOf(index + 1)
    const { base, byteSize } = this.image.data
    if (start > end || start > INT32_MAXIMUM) throw ruleError('tflite-order', index, start, end)
    if (end > byteSize) throw ruleError('tflite-range', index, end, byteSize)
    this.start = base + start
    this.size = end - start
  }

  /** Where the element starts in the buffer; at the count, where the last one ends. Unsigned: negative ones are huge. */
  offsetOf(index: number): number {
    return this.#view.getUint32(this.#offsets + 4 * index, this.#littleEndian)
  }
}

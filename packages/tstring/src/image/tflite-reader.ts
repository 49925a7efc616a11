import { ruleError } from '../errors/rules.ts'
import { abiInfo } from '../layouts/abi.ts'
import { INT32_MAXIMUM } from '../layouts/layout.ts'
import type { Image } from './image.ts'
import { Reader } from './reader.ts'

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

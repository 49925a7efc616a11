import { ruleError } from '../errors/rules.ts'
import { abiInfo } from '../layouts/abi.ts'
import { lastVarint, readVarint } from '../layouts/varint.ts'
import type { Image } from './image.ts'
import { Reader } from './reader.ts'

/** Reads TF_STRING before TensorFlow 2.4: offsets of 64 bits, then varint lengths before the bytes. */
export class LegacyReader extends Reader {
  readonly #littleEndian: boolean
  /** Bytes behind the table. */
  readonly #rest: number

  constructor(image: Image) {
    super(image)
    this.#littleEndian = abiInfo(image.abi).littleEndian
    this.#rest = Math.max(image.data.byteSize - 8 * image.count, 0)
  }

  override locate(index: number): void {
    const offset = this.offsetOf(index)
    const rest = this.#rest
    if (offset >= rest) throw ruleError('legacy-offset', index, offset, rest)
    const { block, base, byteSize } = this.image.data
    const end = base + byteSize
    const size = readVarint(block.bytes, end - rest + offset, end)
    if (Number.isNaN(size)) throw ruleError('varint', index, offset, rest)
    const start = lastVarint.end
    if (size > end - start) throw ruleError('legacy-length', index, size, end - start)
    this.block = block
    this.start = start
    this.size = size
  }

  /** The element's offset from the end of the table, unsigned; inexact above 2^53. */
  offsetOf(index: number): number {
    const { block, base } = this.image.table
    const [first, second] = [
      block.view.getUint32(base + 8 * index, this.#littleEndian),
      block.view.getUint32(base + 8 * index + 4, this.#littleEndian),
    ]
    return this.#littleEndian ? first + second * 2 ** 32 : first * 2 ** 32 + second
  }
}

import { ruleError } from '../errors/rules.ts'
import { abiInfo } from '../layouts/abi.ts'
import { lastVarint, readVarint } from '../layouts/varint.ts'
import type { Image } from './image.ts'
import { Reader, readUint64 } from './reader.ts'

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
    const { block } = data
    const end = data.base + data.byteSize
    const size = readVarint(block.bytes, end - rest + offset, end)
    if (Number.isNaN(size)) throw ruleError('varint', index, offset, rest)
    const start = lastVarint.end
    if (size > end - start) throw ruleError('legacy-length', index, size, end - start)
    this.block = block
    this.start = start
    this.size = size
  }
}

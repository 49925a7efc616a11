import { ruleError } from '../errors/rules.ts'
import { hostLittleEndian } from '../layouts/abi.ts'
import type { Image } from './image.ts'
import { Reader, readUint64 } from './reader.ts'

/** Reads Arrow's Utf8 and LargeUtf8: count + 1 offsets in the byte order of this machine, beside the data. */
export class ArrowReader extends Reader {
  readonly #wide: boolean

  constructor(image: Image) {
    super(image)
    this.#wide = image.layout === 'arrow64'
  }

  override locate(index: number): void {
    const start = this.#offsetOf(index)
    const end = this.#offsetOf(index + 1)
    const { block, base, byteSize } = this.image.data
    if (start > end) throw ruleError('arrow-order', index, start, end)
    if (end > byteSize) throw ruleError('arrow-range', index, end, byteSize)
    this.block = block
    this.start = base + start
    this.size = end - start
  }

  /** Returns an offset as an unsigned number, so negative offsets are huge. */
  #offsetOf(index: number): number {
    const { block, base } = this.image.table
    if (this.#wide) return readUint64(block.view, base + 8 * index, hostLittleEndian)
    return block.view.getUint32(base + 4 * index, hostLittleEndian)
  }
}

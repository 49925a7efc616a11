import { checkUsable, type Block } from '@tenon/core/internal'
import { ruleError } from '../errors/rules.ts'
import { abiInfo } from '../layouts/abi.ts'
import { smallCapacity, structSize, TYPE, type StructLayout } from '../layouts/layout.ts'
import { follows, type Image } from './image.ts'
import { readElement } from '../kernels/kernels.ts'
import { Reader, readUint64 } from './reader.ts'

/** The smallest number that is neither an address nor a size of real memory. */
const TOO_LARGE = 2 ** 53

export class StructReader extends Reader {
  readonly layout: StructLayout
  readonly stride: number
  readonly small: number
  readonly table: Buffer
  readonly base: number
  readonly #block: Block
  readonly #follows: boolean
  readonly #view: DataView
  readonly #littleEndian: boolean
  readonly #wordSize: number

  constructor(image: Image & { readonly layout: StructLayout }) {
    super(image)
    const { littleEndian, wordSize } = abiInfo(image.abi)
    this.layout = image.layout
    this.stride = structSize(image.layout)
    this.small = smallCapacity(image.layout)
    this.table = image.table.block.bytes
    this.base = image.table.base
    this.#block = image.table.block
    this.#follows = follows(image)
    this.#view = image.table.block.view
    this.#littleEndian = littleEndian
    this.#wordSize = wordSize
  }

  override locate(index: number): void {
    const at = this.base + index * this.stride
    const head = this.table[at]!
    if ((head & 3) !== TYPE.SMALL) {
      this.#locateLong(index, at, head & 3)
      return
    }
    if (head >>> 2 > this.small) throw ruleError('small-size', index, head >>> 2, this.small)
    this.block = this.#block
    this.start = at + 1
    this.size = head >>> 2
  }

  /** Sets `block` and `start` for all `capacity` bytes of a PREALLOC. @throws {MalformedTensorError} if they are not in memory */
  locatePrealloc(index: number, capacity: number): void {
    this.#follow(index, this.#pointerAt(this.base + index * this.stride, TYPE.PREALLOC, true), capacity)
  }

  /** Returns the type of an element: the low two bits of its first byte. */
  typeOf(index: number): number {
    return this.table[this.base + index * this.stride]! & 3
  }

  /** Returns the size of an element in bytes. Reads the struct alone and follows no pointer. */
  sizeOf(index: number): number {
    const at = this.base + index * this.stride
    const head = this.table[at]!
    if ((head & 3) === TYPE.SMALL) return head >>> 2
    if ((head & 3) === TYPE.OFFSET) return this.#view.getUint32(at, true) >>> 2
    return (head & 3) === TYPE.LARGE || this.layout === 'tf' ? this.#wordSizeAt(at) : this.#narrowSizeAt(at)
  }

  #locateLong(index: number, at: number, type: number): void {
    const view = this.#view
    if (type === TYPE.OFFSET) {
      const size = view.getUint32(at, true) >>> 2
      const start = index * this.stride + view.getUint32(at + 4, true)
      const { block, base, byteSize } = this.image.data
      if (start + size > byteSize) throw ruleError('offset-end', index, start + size, byteSize)
      this.block = block
      this.start = base + start
      this.size = size
      return
    }
    if (!this.#follows) throw ruleError('struct-type', index, type, 0)
    const isPrealloc = type === TYPE.PREALLOC && this.layout !== 'tf'
    const size = isPrealloc ? this.#narrowSizeAt(at) : this.#wordSizeAt(at)
    this.#follow(index, this.#pointerAt(at, type, isPrealloc), size)
  }

  #follow(index: number, address: number, size: number): void {
    this.size = size
    if (size === 0) return
    if (address === 0 || address + size >= TOO_LARGE) throw ruleError('pointer', index, address, size)
    const region = this.image.regions?.find(address, size)
    if (region !== undefined) {
      const { block } = region
      if (!block.gate.alive || block.bytes.length === 0) checkUsable(block)
      this.block = block
      this.start = address - block.address
    } else if (this.image.foreign) {
      const copy = readElement(this.image, index, size)
      this.block = copy.block
      this.start = copy.base
      this.size = copy.byteSize
    } else {
      throw ruleError('pointer', index, address, size)
    }
  }

  #pointerAt(at: number, type: number, isPrealloc: boolean): number {
    if (isPrealloc) return this.#word(at + 8)
    const index = type === TYPE.LARGE && this.layout !== 'rfc16' ? 2 : 1
    return this.#word(at + index * this.#wordSize)
  }

  #word(at: number): number {
    if (this.#wordSize === 4) return this.#view.getUint32(at, this.#littleEndian)
    return readUint64(this.#view, at, this.#littleEndian)
  }

  /** Returns the size in a size word: `word >> 2`. On big-endian machines only the top byte is shifted. */
  #wordSizeAt(at: number): number {
    const word = this.#word(at)
    if (this.#littleEndian) return Math.floor(word / 4)
    const top = 2 ** (8 * this.#wordSize - 8)
    return (word % top) + (Math.floor(word / top) >>> 2) * top
  }

  #narrowSizeAt(at: number): number {
    const word = this.#view.getUint32(at, this.#littleEndian)
    return this.#littleEndian ? word >>> 2 : (word & 0xffffff) + (word >>> 26) * 0x1000000
  }
}

import { ArgumentRangeError } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import { counted } from '../counted.ts'
import { bufferFormats, rowSize, type BufferDescription } from './buffer-description.ts'
import { bytesOf, Pool, type PoolParts, type PoolSlice } from './pool.ts'
import type { PoolRights } from './pool-facts.ts'

/**
 * A hardware buffer with layers of rows of pixels. Rows start every `stride` pixels, and the bytes between the end of a row and
 * the start of the next are unused. Requests use the image as a whole, and constants cannot be in an image. Made by
 * `createImagePool`.
 *
 * @example
 * using image = createImagePool({ width: 3, height: 2, format: 'R8_UNORM' })
 * image.writeRow(0, 1, Uint8Array.of(7, 8, 9))
 * image.readPixels() // Uint8Array.of(0, 0, 0, 7, 8, 9)
 */
export class ImagePool<Rights extends PoolRights = PoolRights> extends Pool<Rights> {
  readonly description: BufferDescription

  /** @internal */
  constructor(parts: PoolParts & { readonly rights: Rights }, description: BufferDescription) {
    super(parts)
    this.description = Object.freeze({ ...description })
  }

  /** The whole image as an argument of an execution. Its value is the pixels of all layers, row after row. */
  get whole(): PoolSlice<Rights> {
    return this.slice(0, 0)
  }

  /** The bytes of a row. */
  get rowSize(): number {
    return rowSize(this.description)
  }

  /** The bytes of all pixels, without the padding of rows. */
  get pixelsSize(): number {
    const { height, layers } = this.description
    return this.rowSize * height * layers
  }

  /** Copies a row out. @throws {ArgumentRangeError} if the row does not exist. @throws {ScopeClosedError} */
  readRow(layer: number, row: number): Uint8Array<ArrayBuffer> {
    this.checkAlive()
    const pixels = new Uint8Array(this.rowSize)
    this.copyOut(this.#offsetOf(layer, row), pixels)
    return pixels
  }

  /**
   * Copies a row in.
   *
   * @throws {ArgumentRangeError} if the row does not exist, or has another size. @throws {ReadOnlyError}
   * @throws {ScopeClosedError}
   */
  writeRow(layer: number, row: number, source: ArrayBufferView | ArrayBuffer): void {
    const pixels = bytesOf(source)
    this.checkWritable()
    checkLength(pixels, this.rowSize, 'a row')
    this.copyIn(this.#offsetOf(layer, row), pixels)
  }

  /** Copies all pixels out, row after row, without the padding of rows. @throws {ScopeClosedError} */
  readPixels(): Uint8Array<ArrayBuffer> {
    this.checkAlive()
    const pixels = new Uint8Array(this.pixelsSize)
    this.copyValueOut(0, pixels)
    return pixels
  }

  /** Copies all pixels in, row after row. @throws {ArgumentRangeError} @throws {ReadOnlyError} @throws {ScopeClosedError} */
  writePixels(source: ArrayBufferView | ArrayBuffer): void {
    const pixels = bytesOf(source)
    this.checkWritable()
    checkLength(pixels, this.pixelsSize, 'all pixels')
    this.copyValueIn(0, pixels)
  }

  override toString(): string {
    const { width, height, layers, format } = this.description
    const state = this.isAlive ? this.backing : 'closed'
    return `ImagePool (${width} x ${height} ${format}, ${counted(layers, 'layer')}, ${this.rights}, ${state})`
  }

  /** @internal */
  override copyValueOut(_byteOffset: number, target: Uint8Array): void {
    this.#eachRow((from, to, size) => this.copyOut(from, target.subarray(to, to + size)))
  }

  /** @internal */
  override copyValueIn(_byteOffset: number, source: Uint8Array): void {
    this.#eachRow((to, from, size) => this.copyIn(to, source.subarray(from, from + size)))
  }

  #eachRow(copy: (inMemory: number, inPixels: number, byteSize: number) => void): void {
    const { height, layers } = this.description
    const size = this.rowSize
    for (let row = 0; row < height * layers; row++) copy(row * this.#rowStride, row * size, size)
  }

  get #rowStride(): number {
    const { stride, format } = this.description
    return stride * bufferFormats[format].pixelSize
  }

  #offsetOf(layer: number, row: number): number {
    const { layers, height } = this.description
    if (checkSize(layer, 'layer') >= layers)
      throw new ArgumentRangeError(`layer must be below ${layers}, got ${describe(layer)}`)
    if (checkSize(row, 'row') >= height)
      throw new ArgumentRangeError(`row must be below ${height}, got ${describe(row)}`)
    return (layer * height + row) * this.#rowStride
  }
}

function checkLength(pixels: Uint8Array, expected: number, what: string): void {
  if (pixels.length !== expected)
    throw new ArgumentRangeError(`${what} must have ${expected} bytes, got ${pixels.length}`)
}

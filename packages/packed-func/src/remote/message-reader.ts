import { RuntimeError } from '../errors/error-kinds.ts'

/** The deepest nesting of values, as `TN__VALUE_DEEPEST` of the core. */
export const DEEPEST = 64

/** Makes the value of an extension. */
export type ReadExtension = (type: number, bytes: DataView) => unknown

/**
 * Reads one value of MessagePack, which comes from another process and is not trusted.
 *
 * @returns the value: integers as numbers if they are safe, else as bigints; arrays; and Maps, whose keys can be any values.
 * @throws {RuntimeError} if the bytes are not one value.
 */
export function readMessage(bytes: Uint8Array, extension: ReadExtension): unknown {
  const reader = new Reader(bytes, extension)
  const value = reader.value(0)
  if (reader.left !== 0) throw malformed()
  return value
}

/** The error of bytes that another process wrote, and that are not values. */
export function malformed(): RuntimeError {
  return new RuntimeError('a worker answered with bytes that are not a value', {
    hint: 'Restart the isolated library, because the kernel has damaged the memory of its worker.',
  })
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #extension: ReadExtension
  #at = 0

  constructor(bytes: Uint8Array, extension: ReadExtension) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#extension = extension
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  #take(byteSize: number): number {
    if (byteSize > this.left) throw malformed()
    const at = this.#at
    this.#at += byteSize
    return at
  }

  #unsigned(byteSize: number): number {
    const at = this.#take(byteSize)
    if (byteSize === 1) return this.#view.getUint8(at)
    return byteSize === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at)
  }

  value(depth: number): unknown {
    if (depth > DEEPEST) throw malformed()
    const code = this.#unsigned(1)
    if (code < 0x80) return code
    if (code >= 0xe0) return code - 0x100
    if (code < 0x90) return this.#map(code & 0x0f, depth)
    if (code < 0xa0) return this.#array(code & 0x0f, depth)
    if (code < 0xc0) return this.#text(code & 0x1f)
    switch (code) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#binary(this.#unsigned(1 << (code - 0xc4)))
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#special(this.#unsigned(1 << (code - 0xc7)))
      case 0xca:
        return this.#view.getFloat32(this.#take(4))
      case 0xcb:
        return this.#view.getFloat64(this.#take(8))
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (code - 0xcc))
      case 0xcf:
        return this.#wide(this.#view.getBigUint64(this.#take(8)))
      case 0xd0:
        return this.#view.getInt8(this.#take(1))
      case 0xd1:
        return this.#view.getInt16(this.#take(2))
      case 0xd2:
        return this.#view.getInt32(this.#take(4))
      case 0xd3:
        return this.#wide(this.#view.getBigInt64(this.#take(8)))
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#special(1 << (code - 0xd4))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(1 << (code - 0xd9)))
      case 0xdc:
      case 0xdd:
        return this.#array(this.#unsigned(2 << (code - 0xdc)), depth)
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 << (code - 0xde)), depth)
      default:
        throw malformed()
    }
  }

  #wide(value: bigint): number | bigint {
    if (BigInt.asIntN(64, value) !== value) throw malformed()
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }

  #text(byteSize: number): string {
    const at = this.#take(byteSize)
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + at, byteSize).toString()
  }

  #binary(byteSize: number): Uint8Array {
    const at = this.#take(byteSize)
    return this.#bytes.slice(at, at + byteSize)
  }

  #array(length: number, depth: number): unknown[] {
    // Each value has at least one byte.
    if (length > this.left) throw malformed()
    return Array.from({ length }, () => this.value(depth + 1))
  }

  #map(size: number, depth: number): Map<unknown, unknown> {
    if (2 * size > this.left) throw malformed()
    const map = new Map<unknown, unknown>()
    for (let i = 0; i < size; i++) {
      const key = this.value(depth + 1)
      map.set(key, this.value(depth + 1))
    }
    return map
  }

  #special(byteSize: number): unknown {
    const type = this.#unsigned(1)
    const { buffer, byteOffset } = this.#bytes
    return this.#extension(type, new DataView(buffer, byteOffset + this.#take(byteSize), byteSize))
  }
}

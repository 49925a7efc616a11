import { Decoder, encode } from '@msgpack/msgpack'
import { PoolsError } from '../error-status.ts'

/** The most elements of a list of a message, and the longest string. */
const LIST_MAXIMUM = 1_000_000
const STRING_MAXIMUM = 4096

/** The bytes of a message's body. */
export function encodeBody(value: unknown): Uint8Array {
  return encode(value, { ignoreUndefined: true })
}

/** Reads a body that came from a peer. Its shape is checked by {@link Reader}. @throws {PoolsError} */
export function decodeBody(bytes: Uint8Array): Reader {
  const decoder = new Decoder({
    maxStrLength: STRING_MAXIMUM,
    maxBinLength: 2 ** 31 - 1,
    maxArrayLength: LIST_MAXIMUM,
    maxMapLength: 64,
    maxExtLength: 0,
  })
  try {
    // The copy is private: nothing can change it while it is read.
    return new Reader(decoder.decode(bytes.slice()), 'message')
  } catch (cause) {
    throw new PoolsError('INVALID_ARGUMENT', 'the body of a message must be MessagePack', { cause })
  }
}

/** A value of a message that must have a certain shape. */
export class Reader {
  readonly #value: unknown
  readonly #path: string

  constructor(value: unknown, path: string) {
    this.#value = value
    this.#path = path
  }

  /** A field of a map. */
  field(name: string): Reader {
    const value = this.#value
    if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
      throw this.#refused('a map')
    return new Reader(
      Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined,
      `${this.#path}.${name}`,
    )
  }

  get isMissing(): boolean {
    return this.#value === undefined || this.#value === null
  }

  list<T>(read: (reader: Reader) => T): T[] {
    if (!Array.isArray(this.#value)) throw this.#refused('a list')
    return this.#value.map((item, i) => read(new Reader(item, `${this.#path}[${i}]`)))
  }

  number(): number {
    if (typeof this.#value !== 'number') throw this.#refused('a number')
    return this.#value
  }

  /** A whole number from 0 to 2^32 - 1. */
  u32(): number {
    const value = this.number()
    if (!(Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff))
      throw this.#refused('a number from 0 to 2^32 - 1')
    return value
  }

  boolean(): boolean {
    if (typeof this.#value !== 'boolean') throw this.#refused('true or false')
    return this.#value
  }

  string(): string {
    if (typeof this.#value !== 'string') throw this.#refused('a string')
    return this.#value
  }

  bytes(): Uint8Array {
    if (!(this.#value instanceof Uint8Array)) throw this.#refused('bytes')
    return this.#value
  }

  #refused(expected: string): PoolsError {
    return new PoolsError('INVALID_ARGUMENT', `${this.#path} must be ${expected}`)
  }
}

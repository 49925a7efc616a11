import { Decoder, encode } from '@msgpack/msgpack'
import { PoolsError } from '@tenon/pools'
import { isU32 } from '@tenon/pools/internal'
import { HEADER_SIZE } from './frame.ts'

const LIST_MAXIMUM = 1_000_000
const STRING_MAXIMUM = 4096

export function encodeBody(value: unknown): Uint8Array {
  return encode(value, { ignoreUndefined: true })
}

/** Writes a body behind the header of a message; returns the length of the message. @throws {PoolsError} if it is too long */
export function writeBody(message: Uint8Array, value: unknown): number {
  const body = encodeBody(value)
  const length = HEADER_SIZE + body.length
  if (length > message.length) throw new PoolsError('INVALID_ARGUMENT', `a message must fit ${message.length} bytes`)
  message.set(body, HEADER_SIZE)
  return length
}

/** Reads a body from a peer. {@link Reader} checks its shape. @throws {PoolsError} */
export function decodeBody(bytes: Uint8Array): Reader {
  const decoder = new Decoder({
    maxStrLength: STRING_MAXIMUM,
    maxBinLength: 2 ** 31 - 1,
    maxArrayLength: LIST_MAXIMUM,
    maxMapLength: 64,
    maxExtLength: 0,
  })
  try {
    // The copy is private, so that nothing changes it while it is read.
    return new Reader(decoder.decode(bytes.slice()), 'message')
  } catch (cause) {
    throw new PoolsError('INVALID_ARGUMENT', 'the body of a message must be MessagePack', { cause })
  }
}

/** A value of a message whose shape is checked while it is read. */
export class Reader {
  readonly #value: unknown
  readonly #path: string

  constructor(value: unknown, path: string) {
    this.#value = value
    this.#path = path
  }

  field(name: string): Reader {
    const map = this.expect(isMap, 'a map') as Record<string, unknown>
    return new Reader(Object.hasOwn(map, name) ? map[name] : undefined, `${this.#path}.${name}`)
  }

  get isMissing(): boolean {
    return this.#value === undefined || this.#value === null
  }

  optional<T>(read: Read<T>): T | undefined {
    return this.isMissing ? undefined : read(this)
  }

  list<T>(read: Read<T>): T[] {
    const items = this.expect(Array.isArray, 'a list') as unknown[]
    return items.map((item, i) => read(new Reader(item, `${this.#path}[${i}]`)))
  }

  expect(isExpected: (value: unknown) => boolean, expected: string): unknown {
    if (isExpected(this.#value)) return this.#value
    throw new PoolsError('INVALID_ARGUMENT', `${this.#path} must be ${expected}`)
  }
}

const isMap = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)

export type Read<T> = (reader: Reader) => T

const readerOf =
  <T>(isExpected: (value: unknown) => boolean, expected: string): Read<T> =>
  (reader) =>
    reader.expect(isExpected, expected) as T

export const u32: Read<number> = readerOf(isU32, 'a number from 0 to 2^32 - 1')
export const number: Read<number> = readerOf((value) => typeof value === 'number', 'a number')
export const boolean: Read<boolean> = readerOf((value) => typeof value === 'boolean', 'true or false')
export const string: Read<string> = readerOf((value) => typeof value === 'string', 'a string')
export const binary: Read<Uint8Array> = readerOf((value) => value instanceof Uint8Array, 'bytes')
export const u32s: Read<number[]> = (reader) => reader.list(u32)

/** Reads a map. Fields without a value are left out. */
export function record<T extends object>(readers: { readonly [Name in keyof T]-?: Read<T[Name]> }): Read<T> {
  const entries = Object.entries<Read<unknown>>(readers)
  return (reader) => {
    const values = entries.map(([name, read]) => [name, read(reader.field(name))] as const)
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as T
  }
}

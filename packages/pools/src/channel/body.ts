import { Decoder, encode } from '@msgpack/msgpack'
import { PoolsError } from '../error-status.ts'
import { isU32 } from '../model/operand-types.ts'

/** The most elements of a list of a message, and the longest string. */
const LIST_MAXIMUM = 1_000_000
const STRING_MAXIMUM = 4096

export function encodeBody(value: unknown): Uint8Array {
  return encode(value, { ignoreUndefined: true })
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
    const value = this.#value
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
    this.#expect(isMap, 'a map')
    const map = value as Record<string, unknown>
    return new Reader(Object.hasOwn(map, name) ? map[name] : undefined, `${this.#path}.${name}`)
  }

  get isMissing(): boolean {
    return this.#value === undefined || this.#value === null
  }

  optional<T>(read: Read<T>): T | undefined {
    return this.isMissing ? undefined : read(this)
  }

  list<T>(read: Read<T>): T[] {
    const value = this.#value
    this.#expect(Array.isArray(value), 'a list')
    return (value as unknown[]).map((item, i) => read(new Reader(item, `${this.#path}[${i}]`)))
  }

  number(): number {
    this.#expect(typeof this.#value === 'number', 'a number')
    return this.#value as number
  }

  u32(): number {
    this.#expect(isU32(this.#value), 'a number from 0 to 2^32 - 1')
    return this.#value as number
  }

  boolean(): boolean {
    this.#expect(typeof this.#value === 'boolean', 'true or false')
    return this.#value as boolean
  }

  string(): string {
    this.#expect(typeof this.#value === 'string', 'a string')
    return this.#value as string
  }

  bytes(): Uint8Array {
    this.#expect(this.#value instanceof Uint8Array, 'bytes')
    return this.#value as Uint8Array
  }

  #expect(isExpected: boolean, expected: string): void {
    if (!isExpected) throw new PoolsError('INVALID_ARGUMENT', `${this.#path} must be ${expected}`)
  }
}

/** Reads a value, and checks its shape. */
export type Read<T> = (reader: Reader) => T

export const u32: Read<number> = (reader) => reader.u32()
export const number: Read<number> = (reader) => reader.number()
export const boolean: Read<boolean> = (reader) => reader.boolean()
export const string: Read<string> = (reader) => reader.string()
export const u32s: Read<number[]> = (reader) => reader.list(u32)

/** Reads a map. Fields without a value are left out. */
export function record<T extends object>(readers: { readonly [Name in keyof T]-?: Read<T[Name]> }): Read<T> {
  const entries = Object.entries<Read<unknown>>(readers)
  return (reader) => {
    const values = entries.map(([name, read]) => [name, read(reader.field(name))] as const)
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as T
  }
}

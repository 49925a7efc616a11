/** The wire format of Protocol Buffers, version 3: fields with varints, and with bytes. */
import { ArgumentError } from '@tenon/core'

const VARINT = 0
const FIXED_64 = 1
const BYTES = 2
const FIXED_32 = 5

/** Writes fields in the order of the calls. */
export class ProtoWriter {
  readonly #bytes: number[] = []

  varint(field: number, value: number): this {
    this.#push(field * 8 + VARINT)
    this.#push(value)
    return this
  }

  /** Writes a repeated field of varints in packed form. An empty one is left out, as proto3 does. */
  packed(field: number, values: readonly number[]): this {
    if (values.length === 0) return this
    const inner = new ProtoWriter()
    for (const value of values) inner.#push(value)
    return this.message(field, inner.bytes())
  }

  message(field: number, content: Uint8Array): this {
    this.#push(field * 8 + BYTES)
    this.#push(content.length)
    for (const byte of content) this.#bytes.push(byte)
    return this
  }

  bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes)
  }

  #push(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes.push((rest % 0x80) + 0x80)
    this.#bytes.push(rest)
  }
}

/** A field of a message: a number for a varint, or bytes. */
export interface ProtoField {
  readonly field: number
  readonly value: bigint | Uint8Array
}

/** @throws {ArgumentError} that names the message. */
function malformed(name: string, problem: string): ArgumentError {
  return new ArgumentError(`${name} must be a message of Protocol Buffers, but ${problem}`)
}

class Cursor {
  readonly #bytes: Uint8Array
  readonly #name: string
  at = 0

  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = bytes
    this.#name = name
  }

  get isAtEnd(): boolean {
    return this.at === this.#bytes.length
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.at++]
      if (byte === undefined) throw malformed(this.#name, 'it ends within a number')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw malformed(this.#name, 'a number has more than 10 bytes')
  }

  take(size: bigint): Uint8Array {
    if (size > BigInt(this.#bytes.length - this.at)) throw malformed(this.#name, 'it ends within a field')
    const start = this.at
    this.at += Number(size)
    return this.#bytes.subarray(start, this.at)
  }
}

/** Reads the varints and byte fields of a message; other fields are skipped. @throws {ArgumentError} if it is malformed. */
export function readFields(bytes: Uint8Array, name: string): ProtoField[] {
  const cursor = new Cursor(bytes, name)
  const fields: ProtoField[] = []
  while (!cursor.isAtEnd) {
    const tag = cursor.varint()
    const [field, kind] = [Number(tag >> 3n), Number(tag & 7n)]
    if (field === 0 || tag > 0xffff_ffffn) throw malformed(name, 'a field has an impossible number')
    if (kind === VARINT) fields.push({ field, value: cursor.varint() })
    else if (kind === BYTES) fields.push({ field, value: cursor.take(cursor.varint()) })
    else if (kind === FIXED_64 || kind === FIXED_32) cursor.take(kind === FIXED_64 ? 8n : 4n)
    else throw malformed(name, `field ${field} has the wire type ${kind}`)
  }
  return fields
}

/** Reads a repeated field of varints, packed or not. @throws {ArgumentError} if it is malformed. */
export function readNumbers(fields: readonly ProtoField[], field: number, name: string): bigint[] {
  return fields.flatMap((one) => {
    if (one.field !== field) return []
    if (typeof one.value === 'bigint') return [one.value]
    const cursor = new Cursor(one.value, name)
    const values: bigint[] = []
    while (!cursor.isAtEnd) values.push(cursor.varint())
    return values
  })
}

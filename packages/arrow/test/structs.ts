import { gcAllocator } from '@tenon/core'
import { addressOf, copiedBuffer, coreFunctions } from '@tenon/core/internal'
import { type ArrowColumn, importBatch } from '@tenon/arrow'
import { releaseOf } from './peer.ts'

/** Memory of the structs of a test, which must stay reachable while they are used. */
export class Structs {
  readonly #kept: unknown[] = []

  /** Copies bytes, and returns their address. */
  bytes(values: ArrayBufferView | string): bigint {
    const bytes =
      typeof values === 'string'
        ? Buffer.from(`${values}\0`)
        : Buffer.from(values.buffer, values.byteOffset, values.byteLength)
    const segment = gcAllocator.allocate(Math.max(bytes.length, 1), 64)
    new Uint8Array(segment.view().buffer, segment.view().byteOffset).set(bytes)
    this.#kept.push(segment)
    return segment.address
  }

  /** A word of a struct. */
  read(address: bigint, index: number): bigint {
    return new BigInt64Array(copiedBuffer(Number(address) + 8 * index, 8))[0]!
  }

  /** Writes a word of a struct. */
  write(address: bigint, index: number, value: bigint | number): void {
    const word = BigInt64Array.of(BigInt(value))
    coreFunctions().tn_memory_copy(Number(address) + 8 * index, addressOf(word), 8)
  }

  readonly releaseSchema: number = releaseOf.schema

  words(...values: readonly (bigint | number)[]): bigint {
    return this.bytes(BigInt64Array.from(values, (value) => BigInt.asIntN(64, BigInt(value))))
  }

  schema({
    format = 'l',
    name = 'x',
    metadata = 0n,
    flags = 2n,
    children = [],
    count,
    dictionary = 0n,
    release,
  }: SchemaWords = {}): bigint {
    const list = children.length === 0 ? 0n : this.words(...children)
    const text = typeof format === 'string' ? this.bytes(format) : format
    const own = typeof name === 'string' ? this.bytes(name) : name
    return this.words(
      text,
      own,
      metadata,
      flags,
      count ?? children.length,
      list,
      dictionary,
      release ?? releaseOf.schema,
      0,
    )
  }

  array({
    length = 0,
    nullCount = 0,
    offset = 0,
    buffers = [],
    children = [],
    bufferCount,
    childCount,
    dictionary = 0n,
    release,
  }: ArrayWords = {}): bigint {
    const [own, list] = [buffers, children].map((values) => (values.length === 0 ? 0n : this.words(...values)))
    return this.words(
      length,
      nullCount,
      offset,
      bufferCount ?? buffers.length,
      childCount ?? children.length,
      own!,
      list!,
      dictionary,
      release ?? releaseOf.array,
      0,
    )
  }
}

export interface SchemaWords {
  readonly format?: string | bigint
  readonly name?: string | bigint
  readonly metadata?: bigint
  readonly flags?: bigint
  readonly children?: readonly bigint[]
  readonly count?: bigint | number
  readonly dictionary?: bigint
  readonly release?: bigint | number
}

export interface ArrayWords {
  readonly length?: bigint | number
  readonly nullCount?: bigint | number
  readonly offset?: bigint | number
  readonly buffers?: readonly (bigint | number)[]
  readonly children?: readonly bigint[]
  readonly bufferCount?: bigint | number
  readonly childCount?: bigint | number
  readonly dictionary?: bigint
  readonly release?: bigint | number
}

/** Imports a column that stands alone. */
export function column(format: string, array: ArrayWords, structs: Structs = new Structs()): ArrowColumn {
  return importBatch(structs.schema({ format }), structs.array(array)).columns[0]!
}

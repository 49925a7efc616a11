import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url))

/** The path of a file that a library of its format has written. */
export const fixture = (name: string): string => join(fixtures, name)

/** The numbers of all fixtures: see fixtures/make-weights.py. */
export const values = (count: number): number[] => Array.from({ length: count }, (_, i) => (i % 7) - 2)

/** Makes a folder that ends with the tests of a file, and returns a function that writes files there. */
export function temporaryFiles(): (name: string, bytes: Uint8Array) => string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-weights-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  return (name, bytes) => {
    const path = join(directory, name)
    writeFileSync(path, bytes)
    return path
  }
}

/** A safetensors file of a header and data. @param size the size of the header that the file states */
export function safetensorsBytes(
  header: string | Uint8Array | object,
  data: number | Uint8Array = 0,
  size?: bigint,
): Buffer {
  const text = Buffer.from(
    typeof header === 'string' || header instanceof Uint8Array ? (header as string) : JSON.stringify(header),
  )
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(size ?? BigInt(text.length))
  return Buffer.concat([prefix, text, typeof data === 'number' ? Buffer.alloc(data) : data])
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export const uint64 = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

export const text = (value: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(value as string)
  return Buffer.concat([uint64(bytes.length), bytes])
}

interface GgufParts {
  readonly version?: number
  readonly counts?: readonly [tensors: number | bigint, values: number | bigint]
  /** Each with its key and its type. */
  readonly values?: readonly Buffer[]
  readonly tensors?: readonly Buffer[]
  readonly alignment?: number
  readonly data?: Uint8Array
}

/** A GGUF file, as the specification describes it. */
export function ggufBytes({
  version = 3,
  counts,
  values: pairs = [],
  tensors = [],
  alignment = 32,
  data,
}: GgufParts): Buffer {
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    uint32(version),
    uint64(counts?.[0] ?? tensors.length),
    uint64(counts?.[1] ?? pairs.length),
    ...pairs,
    ...tensors,
  ])
  if (data === undefined) return header
  return Buffer.concat([header, Buffer.alloc((alignment - (header.length % alignment)) % alignment), data])
}

export const ggufValue = (key: string, type: number, ...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([text(key), uint32(type), ...parts])

/** @param sizes in the order of the file: that of the axis whose elements are adjacent first. */
export const ggufTensor = (
  name: string,
  sizes: readonly (number | bigint)[],
  type: number,
  offset: number | bigint,
): Buffer => Buffer.concat([text(name), uint32(sizes.length), ...sizes.map(uint64), uint32(type), uint64(offset)])

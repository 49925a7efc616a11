import type { Abi } from '../src/layouts/abi.ts'
import type { Layout } from '../src/layouts/layout.ts'

/**
 * A slow reader of all layouts, written from their descriptions alone with bigints and byte arithmetic, to compare the
 * real ones with. It shares no code with them.
 */
export function referenceStrings(
  bytes: Uint8Array,
  count: number,
  options: { layout: Layout; abi: Abi; strict: boolean; budget: number; writable?: boolean },
): Uint8Array[] | 'refused' {
  try {
    const strings = readers[options.layout](bytes, count, options)
    const total = strings.reduce((sum, string) => sum + BigInt(string.length), 0n)
    return total <= BigInt(options.budget) ? strings : 'refused'
  } catch (error) {
    if (error === refusal) return 'refused'
    throw error
  }
}

const refusal = Symbol('refused')

function need(condition: boolean): void {
  if (!condition) throw refusal
}

type Options = { abi: Abi; strict: boolean; writable?: boolean }
type Read = (bytes: Uint8Array, count: number, options: Options) => Uint8Array[]

function number(bytes: Uint8Array, at: number, size: number, little: boolean): bigint {
  need(at + size <= bytes.length)
  let value = 0n
  for (let i = 0; i < size; i++) value = value * 256n + BigInt(bytes[little ? at + size - 1 - i : at + i]!)
  return value
}

function cut(bytes: Uint8Array, start: bigint, size: bigint): Uint8Array {
  need(start + size <= BigInt(bytes.length))
  return bytes.slice(Number(start), Number(start + size))
}

const structs =
  (stride: number, small: bigint, hasNul: boolean): Read =>
  (bytes, count, { strict, writable = false }) => {
    const taken = new Set<bigint>()
    need(BigInt(stride) * BigInt(count) <= BigInt(bytes.length))
    return Array.from({ length: count }, (_, i) => {
      const at = stride * i
      const word = number(bytes, at, 4, true)
      if (word % 4n === 0n) {
        const size = BigInt(bytes[at]!) / 4n
        need(size <= small)
        if (strict && hasNul) need(bytes[at + 1 + Number(size)] === 0)
        return cut(bytes, BigInt(at + 1), size)
      }
      need(word % 4n === 2n)
      const start = BigInt(at) + number(bytes, at + 4, 4, true)
      need(start >= BigInt(stride * count))
      const string = cut(bytes, start, word / 4n)
      const end = writable ? start + word / 4n : start
      for (let place = start; place < end; place++) {
        need(!taken.has(place))
        taken.add(place)
      }
      return string
    })
  }

const legacy: Read = (bytes, count, { abi, strict }) => {
  need(8n * BigInt(count) <= BigInt(bytes.length))
  const data = bytes.slice(8 * count)
  let end = 0n
  const strings = Array.from({ length: count }, (_, i) => {
    const offset = number(bytes, 8 * i, 8, abi.startsWith('le'))
    need(offset < BigInt(data.length))
    if (strict) need(offset === end)
    let size = 0n
    let length = 0
    for (let more = true; more; length++) {
      need(length < 10 && offset + BigInt(length) < BigInt(data.length))
      const byte = BigInt(data[Number(offset) + length]!)
      size += (byte % 128n) * 128n ** BigInt(length)
      more = byte >= 128n
    }
    size %= 2n ** 64n
    if (strict) need(length === 1 || size >= 128n ** BigInt(length - 1))
    end = offset + BigInt(length) + size
    return cut(data, offset + BigInt(length), size)
  })
  if (strict) need(end === BigInt(data.length))
  return strings
}

const tflite: Read = (bytes, count, { abi, strict }) => {
  const little = abi.startsWith('le')
  if (!strict && bytes.length === 0 && count === 0) return []
  need(bytes.length >= 8 && number(bytes, 0, 4, little) === BigInt(count))
  const header = 4n * BigInt(count) + 8n
  need(header <= BigInt(bytes.length))
  const ends = Array.from({ length: count + 1 }, (_, i) => number(bytes, 4 + 4 * i, 4, little))
  ends.forEach((end, i) => need(end >= (ends[i - 1] ?? header) && end <= BigInt(bytes.length) && end < 2n ** 31n))
  if (strict) need(ends[0] === header && ends.at(-1) === BigInt(bytes.length))
  return Array.from({ length: count }, (_, i) => cut(bytes, ends[i]!, ends[i + 1]! - ends[i]!))
}

const readers: Readonly<Record<Layout, Read>> = {
  tf: structs(24, 22n, true),
  rfc16: structs(16, 15n, false),
  rfc24: structs(24, 23n, false),
  legacy,
  tflite,
}

import type { Abi } from '../src/layouts/abi.ts'
import type { Layout } from '../src/layouts/layout.ts'

/** The rule that a tensor breaks, with the numbers of the error's `details`. */
export interface Refusal {
  readonly rule: string
  readonly index: number
  readonly value: number
  readonly limit: number
}

interface Options {
  readonly layout: Layout
  readonly abi: Abi
  readonly strict: boolean
  readonly budget: number
  readonly writable?: boolean
}

/**
 * A slow validator and reader of all layouts, written from their descriptions alone with bigints and byte arithmetic. The
 * package's own validators and readers are compared with it. It shares no code with them.
 */
export function referenceStrings(bytes: Uint8Array, count: number, options: Options): Uint8Array[] | Refusal {
  try {
    const budget = new Budget(BigInt(options.budget))
    return readers[options.layout](bytes, BigInt(count), options, budget)
  } catch (error) {
    if (error instanceof Refused) return error.refusal
    throw error
  }
}

class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.rule)
    this.refusal = refusal
  }
}

function need(condition: boolean, rule: string, index: bigint, value: bigint, limit: bigint): void {
  if (condition) return
  throw new Refused({ rule, index: Number(index), value: Number(value), limit: Number(limit) })
}

/** The bytes that all strings together may still have. */
class Budget {
  #left: bigint

  constructor(left: bigint) {
    this.#left = left
  }

  spend(index: bigint, size: bigint): void {
    need(size <= this.#left, 'budget', index, size, this.#left)
    this.#left -= size
  }
}

type Read = (bytes: Uint8Array, count: bigint, options: Options, budget: Budget) => Uint8Array[]

function number(bytes: Uint8Array, at: bigint, size: number, little: boolean): bigint {
  const digits = bytes.slice(Number(at), Number(at) + size)
  return (little ? digits.toReversed() : digits).reduce((value, byte) => value * 256n + BigInt(byte), 0n)
}

const cut = (bytes: Uint8Array, start: bigint, size: bigint): Uint8Array =>
  bytes.slice(Number(start), Number(start + size))

/** Runs for each element. */
const each = (count: bigint, read: (index: bigint) => Uint8Array): Uint8Array[] =>
  Array.from({ length: Number(count) }, (_, i) => read(BigInt(i)))

/** Checks that the table of `count` rows fits. */
function needTable(bytes: Uint8Array, count: bigint, row: bigint, header = 0n): void {
  const size = BigInt(bytes.length)
  need(size >= header + row * count || (count === 0n && size === 0n), 'table-size', count, size, row)
}

const structs =
  (stride: bigint, small: bigint, hasNul: boolean): Read =>
  (bytes, count, { strict, writable = false }, budget) => {
    const end = BigInt(bytes.length)
    const table = stride * count
    needTable(bytes, count, stride)
    const extents: { start: bigint; end: bigint; index: bigint }[] = []
    const strings = each(count, (index) => {
      const at = stride * index
      const word = number(bytes, at, 4, true)
      if (word % 4n === 0n) {
        const size = BigInt(bytes[Number(at)]!) / 4n
        need(size <= small, 'small-size', index, size, small)
        const last = BigInt(bytes[Number(at + 1n + size)] ?? 0)
        need(!strict || !hasNul || last === 0n, 'small-nul', index, last, size)
        budget.spend(index, size)
        return cut(bytes, at + 1n, size)
      }
      need(word % 4n === 2n, 'struct-type', index, word % 4n, 0n)
      const size = word / 4n
      const start = at + number(bytes, at + 4n, 4, true)
      need(start >= table, 'offset-start', index, start, table)
      need(start + size <= end, 'offset-end', index, start + size, end)
      budget.spend(index, size)
      if (writable && size > 0n) extents.push({ start, end: start + size, index })
      return cut(bytes, start, size)
    })
    extents.sort((a, b) => Number(a.start - b.start) || Number(a.index - b.index))
    extents.forEach(({ start, index }, i) => {
      const before = extents[i - 1]?.end ?? 0n
      need(start >= before, 'overlap', index, start, before)
    })
    return strings
  }

const legacy: Read = (bytes, count, { abi, strict }, budget) => {
  needTable(bytes, count, 8n)
  const data = bytes.slice(8 * Number(count))
  const rest = BigInt(data.length)
  let end = 0n
  const strings = each(count, (index) => {
    const offset = number(bytes, 8n * index, 8, abi.startsWith('le'))
    need(offset < rest, 'legacy-offset', index, offset, rest)
    need(!strict || offset === end, 'legacy-tight', index, offset, end)
    let size = 0n
    let length = 0n
    for (let more = true; more; length++) {
      need(length < 10n && offset + length < rest, 'varint', index, offset, rest)
      const byte = BigInt(data[Number(offset + length)]!)
      size += (byte % 128n) * 128n ** length
      more = byte >= 128n
    }
    size %= 2n ** 64n
    const left = rest - offset - length
    need(size <= left, 'legacy-length', index, size, left)
    let shortest = 1n
    while (size >= 128n ** shortest) shortest++
    need(!strict || length === shortest, 'varint-canonical', index, length, shortest)
    end = offset + length + size
    budget.spend(index, size)
    return cut(data, offset + length, size)
  })
  need(!strict || end === rest, 'legacy-tight', count, rest, end)
  return strings
}

const tflite: Read = (bytes, count, { abi, strict }, budget) => {
  const little = abi.startsWith('le')
  const end = BigInt(bytes.length)
  if (!strict && end === 0n && count === 0n) return []
  // A count of zero is a tensor without strings for TFLite's readers, which look at nothing else.
  const isShort = count === 0n && end >= 4n && end < 8n
  if (!strict && count === 0n && end >= 4n && number(bytes, 0n, 4, little) === 0n) return []
  if (!isShort) needTable(bytes, count, 4n, 8n)
  need(end >= (strict ? 8n : 4n), 'tflite-header', 0n, end, 8n)
  const stated = number(bytes, 0n, 4, little)
  const most = 2n ** 31n - 3n
  need(stated <= most, 'tflite-count', 0n, stated, most)
  need(stated === count, 'tflite-count', 0n, stated, count)
  const header = 4n * count + 8n
  let previous = header
  const ends = Array.from({ length: Number(count) + 1 }, (_, i) => {
    const index = BigInt(i)
    const offset = number(bytes, 4n + 4n * index, 4, little)
    need(offset >= header && offset <= end && offset < 2n ** 31n, 'tflite-range', index, offset, end)
    need(offset >= previous, 'tflite-order', index, offset, previous)
    need(!strict || i > 0 || offset === header, 'tflite-first', 0n, offset, header)
    if (i > 0) budget.spend(index - 1n, offset - previous)
    previous = offset
    return offset
  })
  need(!strict || previous === end, 'tflite-total', count, previous, end)
  return each(count, (index) => cut(bytes, ends[Number(index)]!, ends[Number(index) + 1]! - ends[Number(index)]!))
}

const readers: Readonly<Record<Layout, Read>> = {
  tf: structs(24n, 22n, true),
  rfc16: structs(16n, 15n, false),
  rfc24: structs(24n, 23n, false),
  legacy,
  tflite,
}

import { isAscii } from 'node:buffer'
import { gcAllocator } from '@tenon/core'
import type { Image } from '../image/image.ts'
import { readerOf } from '../image/reader-of.ts'
import { convert, measure } from '../kernels/kernels.ts'
import { FORM } from '../kernels/plan.ts'
import { hostAbi } from '../layouts/abi.ts'
import { tableSize } from '../layouts/layout.ts'
import { decodeLocated } from '../text/decode.ts'
import type { FastBuffer } from '../text/fast-buffer.ts'

const AT_ONCE = 1024

/** Batches with more bytes are decoded string by string, because the time is spent in the strings. */
const LARGE = 2 ** 26

const plan = { layout: 'arrow32', abi: hostAbi, form: FORM.OFFSET, isInline: false } as const

/** Returns all strings, cut out of texts of many ASCII elements, gathered in reused memory that stays in the cache. */
export function slicedStrings(image: Image): string[] {
  const { count } = image
  const strings = new Array<string>(count)
  const selection = new Uint32Array(AT_ONCE)
  const table = gcAllocator.allocate(tableSize('arrow32', AT_ONCE))
  const { buffer, byteOffset } = table.block.view
  const offsets = new Int32Array(buffer as ArrayBuffer, byteOffset + table.base, AT_ONCE + 1)
  let data = gcAllocator.allocate(0)
  for (let first = 0; first < count; first += AT_ONCE) {
    const n = Math.min(AT_ONCE, count - first)
    for (let i = 0; i < n; i++) selection[i] = first + i
    const { dataSize } = measure(image, selection, n, { ...plan, layout: 'arrow64' })
    if (dataSize > LARGE) {
      decodeEach(image, first, n, strings)
      continue
    }
    if (data.byteSize < dataSize) data = gcAllocator.allocate(2 * dataSize)
    const used = { ...plan, table: table.asSlice(0, tableSize('arrow32', n)), data: data.asSlice(0, dataSize) }
    convert(image, selection, n, used)
    const bytes = data.block.bytes.subarray(data.base, data.base + dataSize) as FastBuffer
    cut(bytes, offsets, n, strings, first)
  }
  return strings
}

function decodeEach(image: Image, first: number, n: number, strings: string[]): void {
  const reader = readerOf(image)
  for (let i = first; i < first + n; i++) {
    reader.locate(i)
    strings[i] = decodeLocated(reader, i, 'replace')
  }
}

/** Cuts the strings of a batch. In a function of its own, V8 optimizes the loop once, for all batches. */
function cut(bytes: FastBuffer, offsets: Int32Array, n: number, strings: string[], first: number): void {
  const whole = isAscii(bytes) ? bytes.latin1Slice(0, bytes.byteLength) : undefined
  for (let i = 0; i < n; i++) {
    const [start, end] = [offsets[i]!, offsets[i + 1]!]
    strings[first + i] = whole === undefined ? bytes.utf8Slice(start, end) : whole.slice(start, end)
  }
}

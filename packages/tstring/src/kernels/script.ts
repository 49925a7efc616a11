import { isUtf8 } from 'node:buffer'
import { checkUsable } from '@tenon/core/internal'
import { readerOf } from '../image/reader-of.ts'
import type { Reader } from '../image/reader.ts'
import type { Kernels } from './kernels.ts'
import { convert, measure } from './script-convert.ts'
import { validate } from './script-validate.ts'
import { segmentsOf, type Image } from '../image/image.ts'
import { checkTable } from './script-table.ts'
import { xxh32 } from './xxh32.ts'

/** The kernels in JavaScript: for where the C core can't be loaded, and what the ones in C are tested against. */
export const scriptKernels: Kernels = {
  validate(image, options) {
    openReader(image)
    return validate(image, options)
  },

  measure: (image, selection, count, plan) => measure(openReader(image), selection, count, plan),
  convert: (image, selection, count, target) => convert(openReader(image), selection, count, target),

  compare(image, other) {
    const [left, right] = [openReader(image), openReader(other)]
    const out = new Int8Array(image.count)
    for (let i = 0; i < image.count; i++) {
      left.locate(i)
      right.locate(other.count === 1 ? 0 : i)
      out[i] = compareLocated(left, right)
    }
    return out
  },

  find(image, bytes, from) {
    const reader = openReader(image)
    for (let i = from; i < image.count; i++) {
      reader.locate(i)
      if (reader.size === bytes.length && isEqual(reader, bytes)) return i
    }
    return image.count
  },

  hash(image, seed) {
    const reader = openReader(image)
    const out = new Uint32Array(image.count)
    for (let i = 0; i < image.count; i++) {
      reader.locate(i)
      out[i] = xxh32(reader.block.bytes, reader.start, reader.start + reader.size, seed)
    }
    return out
  },

  findInvalidUtf8(image, from) {
    const reader = openReader(image)
    for (let i = from; i < image.count; i++) {
      reader.locate(i)
      if (!isUtf8(reader.view())) return i
    }
    return image.count
  },
}

function openReader(image: Image): Reader {
  for (const { block } of segmentsOf(image)) checkUsable(block)
  checkTable(image)
  return readerOf(image)
}

function isEqual({ block, start, size }: Reader, other: Uint8Array): boolean {
  return size === 0 || block.bytes.compare(other, 0, size, start, start + size) === 0
}

function compareLocated(a: Reader, b: Reader): -1 | 0 | 1 {
  if (a.size === 0 || b.size === 0) return a.size === b.size ? 0 : a.size < b.size ? -1 : 1
  return a.block.bytes.compare(b.block.bytes, b.start, b.start + b.size, a.start, a.start + a.size)
}

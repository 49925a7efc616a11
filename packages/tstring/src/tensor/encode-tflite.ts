import type { NativeAllocator, Segment } from '@tenon/core'
import { writeUtf8 } from '@tenon/core/internal'
import { abiInfo, type Abi } from '../layouts/abi.ts'
import { INT32_MAXIMUM, smallCapacity, tableSize } from '../layouts/layout.ts'
import { copyRange } from '../memory/copy-range.ts'
import { allocateFrom, checkSegment } from '../memory/open.ts'
import { byteLengthOf, copyBytes } from '../memory/typed-arrays.ts'
import type { Text } from '../text/encode.ts'
import { writeAscii } from '../text/write-ascii.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import type { Parts } from './parts.ts'

const SMALL = smallCapacity('tf')

/** The state of writing: the next element, the end of its bytes, and the bytes of strings that are not small. */
interface Progress {
  index: number
  at: number
  notSmall: number
}

/**
 * Writes strings straight into TFLite's buffer, whose size is known if all strings are ASCII. Temporary memory for 70 MB would
 * cost more than writing the strings. Returns undefined if the buffer would be too large.
 */
export function encodeTflite(
  values: readonly Text[],
  length: number,
  shape: readonly number[],
  abi: Abi,
  allocator: NativeAllocator,
): Parts | undefined {
  const count = values.length
  const header = tableSize('tflite', count)
  if (header + length > INT32_MAXIMUM) return undefined
  let data = allocateFrom(allocator, header + length, TABLE_ALIGNMENT)
  const progress = { index: 0, at: header, notSmall: 0 }
  writeStrings(values, data, abi, progress)
  if (progress.index < count) {
    // Strings that no sample has shown are not ASCII, so the exact size is counted.
    const byteSize = progress.at + bytesFrom(values, progress.index)
    if (byteSize > INT32_MAXIMUM) return undefined
    const larger = allocateFrom(allocator, byteSize, TABLE_ALIGNMENT)
    // The allocator may have closed the memory of the first attempt.
    checkSegment(data, 'data')
    copyRange(data.block.bytes, data.base, progress.at, larger.block.bytes, larger.base)
    data = larger
    writeStrings(values, data, abi, progress)
  }
  const { littleEndian } = abiInfo(abi)
  data.block.view.setUint32(data.base, count, littleEndian)
  data.block.view.setUint32(data.base + 4, header, littleEndian)
  const sums = { total: progress.at - header, notSmall: progress.notSmall }
  const image = { layout: 'tflite', abi, count, table: data, data, regions: undefined, foreign: false, sums } as const
  return { image, shape, segment: data, storage: 'packed', allocator, isWritable: true }
}

/** Returns the bytes of the elements from `first` on. */
function bytesFrom(values: readonly Text[], first: number): number {
  let total = 0
  for (let i = first; i < values.length; i++) {
    const value = values[i]!
    total += typeof value === 'string' ? Buffer.byteLength(value) : byteLengthOf(value, i)
  }
  return total
}

/** Writes strings and the offsets of their ends. Stops before a string that does not fit. */
function writeStrings(values: readonly Text[], data: Segment, abi: Abi, progress: Progress): void {
  const { littleEndian } = abiInfo(abi)
  const { block, base, byteSize } = data
  const { view, bytes } = block
  const count = values.length
  const end = base + byteSize
  let { index, notSmall } = progress
  let at = base + progress.at
  for (let ends = base + 8 + 4 * index; index < count; index++, ends += 4) {
    const value = values[index]!
    let size: number
    if (typeof value === 'string') {
      const { length } = value
      if (end - at < 3 * length && end - at < Buffer.byteLength(value)) break
      size = writeAscii(bytes, at, value, length) ? length : writeUtf8(bytes, value, at, end - at)
    } else {
      size = byteLengthOf(value, index)
      if (end - at < size) break
      copyBytes(bytes, at, value, size)
    }
    if (size > SMALL) notSmall += size
    at += size
    view.setUint32(ends, at - base, littleEndian)
  }
  progress.index = index
  progress.at = at - base
  progress.notSmall = notSmall
}

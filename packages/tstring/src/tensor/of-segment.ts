import { ArgumentError, gcAllocator, Segment } from '@tenon/core'
import { checkOptions, checkSize, checkUsable } from '@tenon/core/internal'
import { argumentError, checkOneOf } from '../errors/arguments.ts'
import { ruleError } from '../errors/rules.ts'
import type { Image } from '../image/image.ts'
import { validate } from '../kernels/kernels.ts'
import { abiInfo, hostAbi, type Abi } from '../layouts/abi.ts'
import { checkLayout, isStructLayout, tableSize, type Layout } from '../layouts/layout.ts'
import { checkWritable } from '../memory/open.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import type { Parts } from './parts.ts'
import { elementCount } from './shape.ts'

/**
 * The checks of bytes from outside.
 *
 * - `strict`: everything that this library writes, including canonical lengths, no gaps, and the NUL behind a SMALL.
 * - `lenient`: everything that upstream's readers accept, with every bound checked.
 * - `trusted`: the table's size at first, and every bound when an element is read. Pointers of this machine's ABI are
 *   followed, except in files. Use it only for tensors that native code of this process made and keeps.
 */
export type Validation = 'strict' | 'lenient' | 'trusted'

const validations: readonly Validation[] = ['strict', 'lenient', 'trusted']

/** Options of `StringTensor.ofSegment`. */
export interface OfSegmentOptions {
  readonly layout: Layout
  /** The size along each axis. Required except for `tflite`, which counts its strings. */
  readonly shape?: readonly number[]
  /** The ABI of the bytes; by default this machine's. */
  readonly abi?: Abi
  /** The checks of the bytes; by default `strict`. */
  readonly validate?: Validation
  /**
   * The most bytes that all strings together may have; by default the size of the memory. More is possible only if strings
   * share bytes, as those of a decompression bomb do.
   */
  readonly budget?: number
  /**
   * Whether strings may be set; by default false. No two strings may share bytes then. A string that does not fit in place
   * is refused, so that no pointer gets into bytes of others. Only in a `trusted` tensor whose pointers are followed it goes
   * into a block of malloc, as in the C library.
   */
  readonly writable?: boolean
}

export const segmentOptions = ['layout', 'shape', 'abi', 'validate', 'budget', 'writable'] as const

export function partsOfSegment(segment: Segment, options: OfSegmentOptions): Parts {
  if (!(segment instanceof Segment)) throw argumentError('segment', 'a Segment', segment)
  checkUsable(segment.block)
  const checked = checkOptions(options, segmentOptions)
  if (checked.writable) checkWritable(segment)
  return checkedParts(segment, segment, checked)
}

/** Returns the parts of a tensor in memory that others can change. Its table is copied before it is checked. */
export function partsOverCopy(segment: Segment, options: Partial<OfSegmentOptions>): Parts {
  const layout = checkLayout(options.layout)
  const count = countOf(segment, layout, options.abi ?? hostAbi, options.shape)
  const size = Math.min(tableSize(layout, count), segment.byteSize)
  const table = gcAllocator.allocate(size, TABLE_ALIGNMENT)
  segment.block.bytes.copy(table.block.bytes, table.base, segment.base, segment.base + size)
  return checkedParts(table, segment, options)
}

function checkedParts(table: Segment, data: Segment, options: Partial<OfSegmentOptions>): Parts {
  const { abi = hostAbi, writable = false } = options
  const layout = checkLayout(options.layout)
  abiInfo(abi)
  const validation = checkOneOf(options.validate ?? 'strict', validations, 'validate')
  const isTrusted = validation === 'trusted'
  const count = countOf(data, layout, abi, options.shape)
  // Only the table of a file is copied, and pointers in a file cannot name memory of this process.
  const foreign = isTrusted && abi === hostAbi && isStructLayout(layout) && table === data
  const bare: Image & { readonly layout: Layout } = { layout, abi, count, table, data, regions: undefined, foreign }
  const budget = options.budget === undefined ? data.byteSize : checkSize(options.budget, 'budget')
  if (isTrusted) checkTable(bare)
  const sums = isTrusted ? undefined : validate(bare, { strict: validation === 'strict', writable, budget })
  return {
    image: { ...bare, sums },
    shape: Object.freeze([...(options.shape ?? [count])]),
    segment: data,
    storage: 'packed',
    allocator: gcAllocator,
    isWritable: writable && isStructLayout(layout),
    isOutside: true,
    isLoose: validation !== 'strict',
  }
}

export function checkTable({ layout, count, table }: Image): void {
  const isLarge = table.byteSize >= tableSize(layout, count) || (count === 0 && table.byteSize === 0)
  if (!isLarge) throw ruleError('table-size', count, table.byteSize, tableSize(layout, 1) - tableSize(layout, 0))
}

function countOf(segment: Segment, layout: Layout, abi: Abi, shape: readonly number[] | undefined): number {
  if (shape !== undefined) return elementCount(shape)
  if (layout !== 'tflite') {
    throw new ArgumentError(`shape must be an array of numbers for the layout ${layout}, got undefined`, {
      hint: 'Pass { shape }, because the bytes of this layout do not contain the number of strings.',
      details: { name: 'shape', expected: 'an array of numbers', received: 'undefined' },
    })
  }
  const { byteSize } = segment
  if (byteSize === 0) return 0
  if (byteSize < 8) throw ruleError('tflite-header', 0, byteSize, 8)
  const count = segment.block.view.getUint32(segment.base, abiInfo(abi).littleEndian)
  const room = Math.floor(byteSize / 4 - 2)
  if (count > room) throw ruleError('tflite-count', 0, count, room)
  return count
}

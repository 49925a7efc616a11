import * as types from 'node:util/types'
import { ArgumentError, gcAllocator, type Segment } from '@tenon/core'
import { checkOptions, checkSize } from '@tenon/core/internal'
import { argumentError, checkOneOf } from '../errors/arguments.ts'
import { ruleError } from '../errors/rules.ts'
import type { Image } from '../image/image.ts'
import { validate } from '../kernels/kernels.ts'
import { abiInfo, hostAbi, type Abi } from '../layouts/abi.ts'
import { checkLayout, isStructLayout, tableSize, type Layout } from '../layouts/layout.ts'
import { copyRange } from '../memory/copy-range.ts'
import { checkSegment, checkWritable, segmentOver } from '../memory/open.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import type { Parts } from './parts.ts'
import { readShape, type Shaped } from './shape.ts'

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

/** Options that were read once, because getters can answer differently each time. */
interface Checked {
  readonly layout: Layout
  readonly abi: Abi
  readonly shaped: Shaped | undefined
  readonly validation: Validation
  readonly budget: number | undefined
  readonly isWritable: boolean
}

type Given = { readonly [Name in keyof OfSegmentOptions]?: OfSegmentOptions[Name] | undefined }

export function checkSegmentOptions(options: Given): Checked {
  const { layout, shape, abi = hostAbi, validate: validation = 'strict', budget, writable = false } = options
  abiInfo(abi)
  return {
    layout: checkLayout(layout),
    abi,
    shaped: shape === undefined ? undefined : readShape(shape),
    validation: checkOneOf(validation, validations, 'validate'),
    budget: budget === undefined ? undefined : checkSize(budget, 'budget'),
    isWritable: writable,
  }
}

export function partsOfSegment(memory: Segment | Uint8Array, options: OfSegmentOptions): Parts {
  const checked = checkSegmentOptions(checkOptions(options, segmentOptions))
  const segment = types.isTypedArray(memory)
    ? segmentOver(checkBytes(memory), 'segment')
    : checkSegment(memory, 'segment', 'a Segment or a Uint8Array')
  if (checked.isWritable) checkWritable(segment)
  return checkedParts(segment, segment, checked)
}

function checkBytes(bytes: NodeJS.TypedArray): Uint8Array {
  if (types.isUint8Array(bytes)) return bytes
  throw argumentError('segment', 'a Segment or a Uint8Array', bytes)
}

/** Returns the parts of a tensor in memory that others can change. Its table is copied before it is checked. */
export function partsOverCopy(segment: Segment, checked: Checked): Parts {
  const { layout } = checked
  const { count } = shapeOf(segment, checked)
  const size = Math.min(tableSize(layout, count), segment.byteSize)
  const table = gcAllocator.allocate(size, TABLE_ALIGNMENT)
  copyRange(segment.block.bytes, segment.base, size, table.block.bytes, table.base)
  return checkedParts(table, segment, checked)
}

function checkedParts(table: Segment, data: Segment, checked: Checked): Parts {
  const { layout, abi, validation, isWritable: writable, budget = data.byteSize } = checked
  const isTrusted = validation === 'trusted'
  const { shape, count } = shapeOf(data, checked)
  // Only the table of a file is copied, and pointers in a file cannot name memory of this process.
  const foreign = isTrusted && abi === hostAbi && isStructLayout(layout) && table === data
  const bare: Image & { readonly layout: Layout } = { layout, abi, count, table, data, regions: undefined, foreign }
  if (isTrusted) checkTable(bare)
  const sums = isTrusted ? undefined : validate(bare, { strict: validation === 'strict', writable, budget })
  return {
    image: { ...bare, sums },
    shape,
    segment: data,
    storage: 'packed',
    allocator: gcAllocator,
    isWritable: writable && layout !== 'legacy',
    isOutside: true,
    isLoose: validation !== 'strict',
  }
}

export function checkTable({ layout, count, table }: Image): void {
  // TFLite's readers find no strings in a count of zero without offsets.
  const isEmpty = count === 0 && (table.byteSize === 0 || (layout === 'tflite' && table.byteSize >= 4))
  const isLarge = isEmpty || table.byteSize >= tableSize(layout, count)
  if (!isLarge) throw ruleError('table-size', count, table.byteSize, tableSize(layout, 1) - tableSize(layout, 0))
}

function shapeOf(segment: Segment, { layout, abi, shaped }: Checked): Shaped {
  if (shaped !== undefined) return shaped
  if (layout !== 'tflite') {
    throw new ArgumentError(`shape must be an array of numbers for the layout ${layout}, got undefined`, {
      hint: 'Pass { shape }, because the bytes of this layout do not contain the number of strings.',
      details: { name: 'shape', expected: 'an array of numbers', received: 'undefined' },
    })
  }
  const count = countOfTflite(segment, abi)
  return { shape: Object.freeze([count]), count }
}

/** Reads the count of a TFLite buffer. TFLite's readers need four bytes to find that there are no strings. */
function countOfTflite({ block, base, byteSize }: Segment, abi: Abi): number {
  if (byteSize === 0) return 0
  if (byteSize < 4) throw ruleError('tflite-header', 0, byteSize, 8)
  const count = block.view.getUint32(base, abiInfo(abi).littleEndian)
  const room = Math.max(Math.floor(byteSize / 4 - 2), 0)
  if (count > room) throw ruleError('tflite-count', 0, count, room)
  return count
}

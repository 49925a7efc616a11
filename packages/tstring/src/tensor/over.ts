import { ArgumentError, gcAllocator, Segment } from '@tenon/core'
import { checkSize, checkUsable, describe } from '@tenon/core/internal'
import { ruleError } from '../errors/rules.ts'
import type { Image } from '../image/image.ts'
import { validate as validateImage } from '../kernels/native.ts'
import { abiInfo, hostAbi, type Abi } from '../layouts/abi.ts'
import { checkLayout, isStructLayout, tableSize, type Layout } from '../layouts/layout.ts'
import { checkWritable } from '../memory/open.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import type { Parts } from './parts.ts'
import { elementCount } from './shape.ts'

/**
 * What is checked of bytes from outside.
 *
 * - `strict`: all that this library writes: also canonical lengths, no gaps, NUL behind SMALL.
 * - `lenient`: what upstream's readers accept, with every bound checked.
 * - `trusted`: nothing but the table's size at first, and every bound when an element is read. Pointers of this machine's
 *   ABI are followed, but in files: only for tensors that native code of this process made and keeps.
 */
export type Validation = 'strict' | 'lenient' | 'trusted'

/** What bytes are read as. */
export interface OverOptions {
  readonly layout: Layout
  /** The size along each axis. Needed but for `tflite`, which counts its strings. */
  readonly shape?: readonly number[]
  /** This machine's without it. */
  readonly abi?: Abi
  /** `strict` without it. */
  readonly validate?: Validation
  /**
   * The most bytes that all strings together may have. Without it, the size of the memory: more is only possible if
   * strings share bytes, as a decompression bomb's do.
   */
  readonly budget?: number
  /**
   * Whether strings may be set; false without it. No two strings may share bytes then. What doesn't fit in place is
   * refused, so that no pointer gets into bytes of others; of a `trusted` tensor whose pointers are followed it goes into
   * a block of malloc, as in the C library.
   */
  readonly writable?: boolean
}

/** The parts of `StringTensor.over`. */
export function partsOver(segment: Segment, options: OverOptions): Parts {
  if (!(segment instanceof Segment)) throw new ArgumentError(`segment must be a segment, got ${describe(segment)}`)
  checkUsable(segment.block)
  if (typeof options !== 'object' || options === null) {
    throw new ArgumentError(`options with a layout must be given, got ${describe(options)}`)
  }
  if (options.writable) checkWritable(segment)
  return checkedParts(segment, segment, options)
}

/** As {@link partsOver}, for memory that others can change: what was checked is a copy of the table. */
export function partsOverCopy(segment: Segment, options: OverOptions): Parts {
  const { layout, abi = hostAbi } = options
  const count = countOf(segment, layout, abi, options.shape)
  const size = Math.min(tableSize(layout, count), segment.byteSize)
  const table = gcAllocator.allocate(size, TABLE_ALIGNMENT)
  segment.block.bytes.copy(table.block.bytes, table.base, segment.base, segment.base + size)
  return checkedParts(table, segment, options)
}

function checkedParts(table: Segment, data: Segment, options: OverOptions): Parts {
  const { layout, abi = hostAbi, validate = 'strict', writable = false } = options
  checkLayout(layout)
  abiInfo(abi)
  if (validate !== 'strict' && validate !== 'lenient' && validate !== 'trusted') {
    throw new ArgumentError(`validate must be 'strict', 'lenient' or 'trusted', got ${describe(validate)}`)
  }
  const count = countOf(data, layout, abi, options.shape)
  // A table that had to be copied is a file's: no pointer in it can name memory of this process.
  const foreign = validate === 'trusted' && abi === hostAbi && isStructLayout(layout) && table === data
  const bare: Image & { readonly layout: Layout } = { layout, abi, count, table, data, regions: undefined, foreign }
  const budget = options.budget === undefined ? data.byteSize : checkSize(options.budget, 'budget')
  if (validate === 'trusted') checkTable(bare)
  const sums =
    validate === 'trusted' ? undefined : validateImage(bare, { strict: validate === 'strict', writable, budget })
  return {
    image: { ...bare, sums },
    shape: Object.freeze([...(options.shape ?? [count])]),
    segment: data,
    storage: 'packed',
    allocator: gcAllocator,
    arena: undefined,
    blocks: undefined,
    isWritable: writable && isStructLayout(layout),
    isOutside: true,
    isLoose: validate !== 'strict',
  }
}

/** @throws {MalformedTensorError} if the table does not hold the elements. */
export function checkTable({ layout, count, table }: Image): void {
  const isLarge = table.byteSize >= tableSize(layout, count) || (count === 0 && table.byteSize === 0)
  if (!isLarge) throw ruleError('table-size', count, table.byteSize, tableSize(layout, 1) - tableSize(layout, 0))
}

/** The number of elements: of the shape, or of TFLite's header. */
function countOf(segment: Segment, layout: Layout, abi: Abi, shape: readonly number[] | undefined): number {
  if (shape !== undefined) return elementCount(shape)
  if (layout !== 'tflite') {
    throw new ArgumentError(
      `a shape must be given: the bytes of the layout ${layout} don't tell how many strings they are`,
    )
  }
  if (segment.byteSize === 0) return 0
  if (segment.byteSize < 8) throw ruleError('tflite-header', 0, segment.byteSize, 8)
  const count = segment.block.view.getUint32(segment.base, abiInfo(abi).littleEndian)
  const room = segment.byteSize / 4 - 2
  if (count > room) throw ruleError('tflite-count', 0, count, Math.floor(room))
  return count
}

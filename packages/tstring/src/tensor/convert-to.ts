import { ArgumentError, gcAllocator, type NativeAllocator } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import type { Image } from '../image/image.ts'
import { MalformedTensorError } from '../errors/tstring-errors.ts'
import { convert, measure } from '../kernels/native.ts'
import { FORM, type Form, type Plan, type Sizes } from '../kernels/plan.ts'
import { abiInfo, hostAbi, type Abi } from '../layouts/abi.ts'
import { checkLayout, isStructLayout, tableSize, type Layout } from '../layouts/layout.ts'
import { varintSize } from '../layouts/varint.ts'
import { Arena } from '../memory/arena.ts'
import { MallocBlocks } from '../memory/malloc-blocks.ts'
import { Regions } from '../memory/regions.ts'
import type { Parts, Storage } from './parts.ts'

/** The alignment of tables, in bytes: what TensorFlow's own allocator gives. */
export const TABLE_ALIGNMENT = 64

/** How a tensor shall be written. */
export interface LayoutOptions {
  /** Pointer size and byte order; this machine's without it. Others can be written `packed` only. */
  readonly abi?: Abi
  /** Where the memory comes from; memory of the garbage collector without it. */
  readonly allocator?: NativeAllocator
  /** Where long strings go: `arena` without it for `tf` of this machine, else `packed`. */
  readonly storage?: Storage
  /** Whether strings that fit their struct are kept in it; true without it. */
  readonly inline?: boolean
}

const forms: Readonly<Record<Storage, Form>> = { arena: FORM.POINTER, malloc: FORM.BLOCK, packed: FORM.OFFSET }

/** A plan and the storage that it makes. */
export interface Placement {
  readonly plan: Plan & { readonly layout: Layout }
  readonly storage: Storage
}

/** What the options mean. @throws {ArgumentError} if they don't go together. */
export function placementOf(layout: Layout, options: LayoutOptions): Placement {
  const { abi = hostAbi, inline = true } = options
  checkLayout(layout)
  abiInfo(abi)
  const storage = options.storage ?? (layout === 'tf' && abi === hostAbi ? 'arena' : 'packed')
  const form = forms[storage]
  if (form === undefined)
    throw new ArgumentError(`storage must be 'arena', 'malloc' or 'packed', got ${describe(storage)}`)
  if (storage !== 'packed' && !isStructLayout(layout)) {
    throw new ArgumentError(`the layout ${layout} is always packed, storage '${storage}' needs structs`)
  }
  if (storage !== 'packed' && abi !== hostAbi) {
    throw new ArgumentError(
      `storage '${storage}' writes pointers, which only this machine's ABI (${hostAbi}) can have`,
      {
        hint: "choose storage: 'packed' for another machine.",
      },
    )
  }
  return { plan: { layout, abi, form, isInline: inline }, storage }
}

/** Converts the elements of an image, or those that a selection names, into memory of its own. */
export function convertTo(
  source: Image,
  selection: Uint32Array | undefined,
  shape: readonly number[],
  placement: Placement,
  allocator: NativeAllocator = gcAllocator,
): Parts {
  const count = selection === undefined ? source.count : selection.length
  const known = selection === undefined ? knownSizes(source, placement.plan) : undefined
  if (known !== undefined) {
    try {
      return write(source, selection, shape, placement, allocator, known)
    } catch (error) {
      // Strings were set since their sizes were summed up.
      if (!(error instanceof MalformedTensorError) || error.details['rule'] !== 'changed') throw error
    }
  }
  return write(source, selection, shape, placement, allocator, measure(source, selection, count, placement.plan))
}

/** Below this no limit of any layout is in sight. */
const FAR_FROM_LIMITS = 2 ** 29

/** Sizes that are enough, from what is known of the source: looking at every string costs a third of a conversion. */
function knownSizes({ count, sums }: Image, { layout, form, isInline }: Plan): Sizes | undefined {
  const table = tableSize(layout, count)
  if (sums === undefined || sums.total + table > FAR_FROM_LIMITS) return undefined
  if (form === FORM.BLOCK) return { tableSize: table, dataSize: 0 }
  if (layout === 'legacy') return { tableSize: table, dataSize: sums.total + count * varintSize(sums.total) }
  const hasInline = isInline && (layout === 'tf' || layout === 'rfc24')
  return { tableSize: table, dataSize: hasInline ? sums.notSmall : sums.total }
}

function write(
  source: Image,
  selection: Uint32Array | undefined,
  shape: readonly number[],
  { plan, storage }: Placement,
  allocator: NativeAllocator,
  sizes: Sizes,
): Parts {
  const count = selection === undefined ? source.count : selection.length
  const room = allocator.allocate(sizes.tableSize + sizes.dataSize, TABLE_ALIGNMENT)
  const table = room.asSlice(0, sizes.tableSize)
  const used = convert(source, selection, count, { ...plan, table, data: room.asSlice(sizes.tableSize) })
  const whole = room.asSlice(0, sizes.tableSize + used)
  const { layout, abi } = plan
  const isPacked = storage === 'packed'
  const regions = isPacked ? undefined : new Regions(storage === 'arena' ? [whole] : [])
  const sums = selection === undefined ? source.sums : undefined
  const foreign = storage === 'malloc'
  return {
    image: { layout, abi, count, table: isPacked ? whole : table, data: whole, regions, foreign, sums },
    shape,
    segment: isPacked ? whole : table,
    storage,
    allocator,
    arena: storage === 'arena' ? new Arena(allocator, regions!) : undefined,
    blocks: foreign && isStructLayout(layout) ? new MallocBlocks(table, count, layout, allocator) : undefined,
    isWritable: isStructLayout(layout),
  }
}

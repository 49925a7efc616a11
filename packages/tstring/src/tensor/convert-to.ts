import { ArgumentError, gcAllocator, type NativeAllocator } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import type { Image } from '../image/image.ts'
import { FORM, type Form, type Plan } from '../kernels/kernels.ts'
import { kernels } from '../kernels/choose.ts'
import { abiInfo, hostAbi, type Abi } from '../layouts/abi.ts'
import { checkLayout, isStructLayout, type Layout } from '../layouts/layout.ts'
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
  if (form === undefined) throw new ArgumentError(`storage must be 'arena', 'malloc' or 'packed', got ${describe(storage)}`)
  if (storage !== 'packed' && !isStructLayout(layout)) {
    throw new ArgumentError(`the layout ${layout} is always packed, storage '${storage}' needs structs`)
  }
  if (storage !== 'packed' && abi !== hostAbi) {
    throw new ArgumentError(`storage '${storage}' writes pointers, which only this machine's ABI (${hostAbi}) can have`, {
      hint: "choose storage: 'packed' for another machine.",
    })
  }
  return { plan: { layout, abi, form, isInline: inline }, storage }
}

/** Converts the elements of an image, or those that a selection names, into memory of its own. */
export function convertTo(
  source: Image,
  selection: Uint32Array | undefined,
  shape: readonly number[],
  { plan, storage }: Placement,
  allocator: NativeAllocator = gcAllocator,
): Parts {
  const count = selection === undefined ? source.count : selection.length
  const { measure, convert } = kernels()
  const { tableSize, dataSize } = measure(source, selection, count, plan)
  const whole = allocator.allocate(tableSize + dataSize, TABLE_ALIGNMENT)
  const table = whole.asSlice(0, tableSize)
  convert(source, selection, count, { ...plan, table, data: whole.asSlice(tableSize) })
  const { layout, abi } = plan
  const regions = storage === 'packed' ? undefined : new Regions(storage === 'arena' ? [whole] : [])
  const isPacked = storage === 'packed'
  return {
    image: { layout, abi, count, table: isPacked ? whole : table, data: whole, regions, foreign: storage === 'malloc' },
    shape,
    segment: isPacked ? whole : table,
    storage,
    allocator,
    arena: storage === 'arena' ? new Arena(allocator, regions!) : undefined,
    blocks: storage === 'malloc' && isStructLayout(layout) ? new MallocBlocks(table, count, layout, allocator) : undefined,
    isWritable: isStructLayout(layout),
  }
}

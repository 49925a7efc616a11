import { ArgumentError, gcAllocator, type NativeAllocator } from '@tenon/core'
import { checkOneOf } from '../errors/arguments.ts'
import { MalformedTensorError } from '../errors/tstring-errors.ts'
import type { Image } from '../image/image.ts'
import { convert, measure } from '../kernels/kernels.ts'
import { FORM, type Form, type Plan, type Sizes } from '../kernels/plan.ts'
import { abiInfo, hostAbi, type Abi } from '../layouts/abi.ts'
import { checkLayout, isStructLayout, tableSize, type Layout, type StructLayout } from '../layouts/layout.ts'
import { varintSize } from '../layouts/varint.ts'
import { MallocBlocks } from '../memory/malloc-blocks.ts'
import { allocateFrom } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { arenaParts, type Parts, type Storage } from './parts.ts'

/** The alignment of tables in bytes, which is that of TensorFlow's own allocator. */
export const TABLE_ALIGNMENT = 64

/** Options for writing a tensor in a layout. */
export interface LayoutOptions {
  /** The pointer size and byte order; by default this machine's. Other ABIs require `packed` storage. */
  readonly abi?: Abi
  /** Allocates the tensor; by default memory of the garbage collector. */
  readonly allocator?: NativeAllocator
  /** The place for long strings; by default `arena` for `tf` of this machine, and `packed` otherwise. */
  readonly storage?: Storage
  /** Whether strings that fit are stored in their struct; by default true. */
  readonly inline?: boolean
}

export const layoutOptions = ['abi', 'allocator', 'storage', 'inline'] as const

const forms: Readonly<Record<Storage, Form>> = { arena: FORM.POINTER, malloc: FORM.BLOCK, packed: FORM.OFFSET }
const storages = Object.keys(forms) as Storage[]

export interface Placement extends Plan {
  readonly layout: Layout
  readonly storage: Storage
}

/** Returns the placement for a layout and its options. @throws {ArgumentError} if they contradict each other. */
export function placementOf(layout: Layout, options: LayoutOptions): Placement {
  const { abi = hostAbi, inline = true } = options
  checkLayout(layout)
  abiInfo(abi)
  const isHost = abi === hostAbi
  const storage = checkOneOf(options.storage ?? (layout === 'tf' && isHost ? 'arena' : 'packed'), storages, 'storage')
  if (storage !== 'packed' && (!isStructLayout(layout) || !isHost)) {
    const reason = isHost ? 'this layout has no structs' : `only pointers of the ABI ${hostAbi} can be written`
    throw new ArgumentError(`storage must be 'packed' for ${layout} on ${abi}, got '${storage}'`, {
      hint: `Leave out storage, or choose 'packed', because ${reason}.`,
      details: { name: 'storage', expected: 'packed', received: storage },
    })
  }
  return { layout, abi, form: forms[storage], isInline: inline, storage }
}

export function convertTo(
  source: Image,
  selection: Uint32Array | undefined,
  shape: readonly number[],
  placement: Placement,
  allocator: NativeAllocator = gcAllocator,
): Parts {
  const count = selection === undefined ? source.count : selection.length
  const { layout, abi, storage } = placement
  const write = ({ tableSize: size, dataSize }: Sizes): Parts => {
    const room = allocateFrom(allocator, size + dataSize, TABLE_ALIGNMENT)
    const table = room.asSlice(0, size)
    const used = convert(source, selection, count, { ...placement, table, data: room.asSlice(size) })
    const data = room.asSlice(0, size + used)
    const sums = selection === undefined ? source.sums : undefined
    const image = { layout, abi, count, table, data, regions: undefined, foreign: false, sums }
    if (storage === 'arena') return arenaParts({ ...image, regions: new Regions([data]) }, shape, allocator)
    const common = { shape, storage, allocator, isWritable: layout !== 'legacy' }
    if (storage === 'packed') return { ...common, image: { ...image, table: data }, segment: data }
    const owner = new MallocBlocks(table, count, layout as StructLayout, allocator)
    return {
      ...common,
      image: { ...image, regions: new Regions(), foreign: true, owner },
      segment: table,
      blocks: owner,
    }
  }
  const known = selection === undefined ? knownSizes(source, placement) : undefined
  if (known !== undefined) {
    try {
      return write(known)
    } catch (error) {
      // Strings were set after their sizes were summed up, so the sizes must be measured.
      if (!(error instanceof MalformedTensorError) || error.details['rule'] !== 'changed') throw error
    }
  }
  return write(measure(source, selection, count, placement))
}

/** A size in bytes that is far below the limits of all layouts. */
const FAR_FROM_LIMITS = 2 ** 29

/** Returns sizes from the sums of the source, because measuring every string takes a third of a conversion's time. */
function knownSizes({ count, sums }: Image, { layout, form, isInline }: Plan): Sizes | undefined {
  const table = tableSize(layout, count)
  if (sums === undefined || sums.total + table > FAR_FROM_LIMITS) return undefined
  if (form === FORM.BLOCK) return { tableSize: table, dataSize: 0 }
  if (layout === 'legacy') return { tableSize: table, dataSize: sums.total + count * varintSize(sums.total) }
  const hasInline = isInline && (layout === 'tf' || layout === 'rfc24')
  return { tableSize: table, dataSize: hasInline ? sums.notSmall : sums.total }
}

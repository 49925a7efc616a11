import { gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { Cleaner, coreFunctions } from '@tenon/core/internal'
import { layoutCodes } from '../layouts/codes.ts'
import type { StructLayout } from '../layouts/layout.ts'
import { withOpen } from './open.ts'
import { startOf } from './regions.ts'

interface Table {
  /** Keeps the table from being collected before its blocks are freed. */
  readonly buffer: ArrayBufferLike
  readonly address: number
  readonly count: number
  readonly layout: StructLayout
}

const cleaner = new Cleaner<Table>(free)

function free({ address, count, layout }: Omit<Table, 'buffer'>): void {
  coreFunctions().tn_tstring_dealloc_all(address, count, layoutCodes[layout])
}

/**
 * The blocks of malloc that the structs of one table own. They are freed once: by {@link close}, when the lifetime of the
 * table's memory closes, or when the garbage collector takes the table.
 */
export class MallocBlocks {
  readonly #table: Segment
  readonly #count: number
  readonly #layout: StructLayout
  #isOwner = true

  constructor(table: Segment, count: number, layout: StructLayout, allocator: NativeAllocator) {
    this.#table = table
    this.#count = count
    this.#layout = layout
    if (allocator === gcAllocator) {
      const { buffer } = table.block.view
      cleaner.watch(table.block, { buffer, address: startOf(table), count, layout }, this)
    } else {
      table.lifetime.addCloseAction(() => this.close())
    }
  }

  /** Frees all blocks, so that the strings are empty. Does nothing if the blocks are freed or handed off already. */
  close(): void {
    if (!this.#isOwner) return
    withOpen([this.#table], () => free({ address: startOf(this.#table), count: this.#count, layout: this.#layout }))
    this.handOff()
  }

  /** Leaves the blocks to the new owner of the table. */
  handOff(): void {
    this.#isOwner = false
    cleaner.forget(this)
  }
}

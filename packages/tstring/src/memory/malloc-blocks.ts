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

function free({ address, count, layout }: Table): void {
  coreFunctions().tn_tstring_dealloc_all(address, count, layoutCodes[layout])
}

/**
 * The blocks of malloc that the structs of one table own. They are freed once: by {@link close}, when the lifetime of the
 * table's memory closes, or when the garbage collector takes the table.
 */
export class MallocBlocks {
  readonly #table: Segment
  readonly #owned: Table
  #isOwner = true

  constructor(table: Segment, count: number, layout: StructLayout, allocator: NativeAllocator) {
    this.#table = table
    this.#owned = { buffer: table.block.view.buffer, address: startOf(table), count, layout }
    if (allocator === gcAllocator) cleaner.watch(table.block, this.#owned, this)
    else table.lifetime.addCloseAction(() => this.close())
  }

  /** Frees all blocks, so that the strings are empty. Does nothing if the blocks are freed or handed off already. */
  close(): void {
    if (!this.#isOwner) return
    withOpen([this.#table], () => free(this.#owned))
    this.handOff()
  }

  /** Leaves the blocks to the new owner of the table. */
  handOff(): void {
    this.#isOwner = false
    cleaner.forget(this)
  }
}

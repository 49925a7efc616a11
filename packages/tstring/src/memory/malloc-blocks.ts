import { gcAllocator, type NativeAllocator, type Segment } from '@tenon/core'
import { coreFunction, type CFunction } from '@tenon/core/internal'
import { layouts, type StructLayout } from '../layouts/layout.ts'
import { withOpen } from './open.ts'
import { startOf } from './regions.ts'

let deallocate: CFunction | undefined

interface Table {
  readonly buffer: ArrayBufferLike
  readonly address: number
  readonly count: number
  readonly layout: StructLayout
}

/** The blocks of tables that nobody freed, when the garbage collector takes the table. */
const abandoned = new FinalizationRegistry<Table>(({ address, count, layout }) => free(address, count, layout))

function free(address: number, count: number, layout: StructLayout): void {
  deallocate ??= coreFunction('tn_tstring_dealloc_all', 'void', ['uintptr_t', 'uint64_t', 'int32_t'])
  deallocate(address, count, layouts.indexOf(layout))
}

/**
 * The blocks of malloc that the structs of one table own. They are freed once: by {@link free}, when the lifetime of the
 * table's memory closes, or with memory of the garbage collector.
 */
export class MallocBlocks {
  readonly table: Segment
  readonly count: number
  readonly layout: StructLayout
  #isOwner = true

  constructor(table: Segment, count: number, layout: StructLayout, allocator: NativeAllocator) {
    this.table = table
    this.count = count
    this.layout = layout
    if (allocator === gcAllocator) {
      const address = startOf(table)
      abandoned.register(table.block, { buffer: table.block.view.buffer, address, count, layout }, this)
    } else {
      table.lifetime.addCloseAction(() => this.free())
    }
  }

  /** Frees all blocks; the strings are empty then. Idempotent. */
  free(): void {
    if (!this.#isOwner) return
    this.release()
    withOpen([this.table], () => free(startOf(this.table), this.count, this.layout))
  }

  /** Leaves the blocks to whoever owns the table now. */
  release(): void {
    this.#isOwner = false
    abandoned.unregister(this)
  }
}

import { gcAllocator, type Lifetime, type NativeAllocator, type Segment } from '@tenon/core'
import { checkUsable, Cleaner, coreFunctions, globalGate, ManagedLifetime, usersOf } from '@tenon/core/internal'
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
  #isClosed = false

  constructor(table: Segment, count: number, layout: StructLayout, allocator: NativeAllocator) {
    const { block, lifetime } = table
    this.#table = table
    this.#owned = { buffer: block.view.buffer, address: startOf(table), count, layout }
    if (lifetime instanceof ManagedLifetime) this.#freeWith(lifetime)
    // Other memory without an end stays with native code, as that of processAllocator does.
    else if (allocator === gcAllocator || block.gate !== globalGate) cleaner.watch(block, this.#owned, this)
  }

  #freeWith(lifetime: Lifetime): void {
    try {
      lifetime.addCloseAction(() => this.#free())
    } catch (error) {
      free(this.#owned)
      throw error
    }
  }

  /** Whether the blocks were freed by {@link close}. False after {@link handOff}. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Frees all blocks. If a call in progress or a hold uses the memory of the table, they are freed later, with that memory.
   * Does nothing if they were handed off.
   */
  close(): void {
    if (!this.#isOwner || this.#isClosed) return
    checkUsable(this.#table.block)
    this.#isClosed = true
    const { holds, calls } = usersOf(this.#table.block.gate)
    if (holds === 0 && calls === 0) this.#free()
  }

  /** Leaves the blocks to the new owner of the table. */
  handOff(): void {
    if (!this.#isClosed) this.#forget()
  }

  #free(): void {
    if (!this.#isOwner) return
    withOpen([this.#table], () => free(this.#owned))
    this.#isClosed = true
    this.#forget()
  }

  #forget(): void {
    this.#isOwner = false
    cleaner.forget(this)
  }
}

import type { Hold } from '@tenon/core'
import { Cleaner } from '@tenon/core/internal'
import type { ChunkHeap } from './chunk-heap.ts'
import type { Chunk } from './chunk.ts'
import type { Span } from './free-list.ts'

/** The spans and the hold of one arena. A cleaner may keep it, because it refers neither to the arena nor to its witness. */
interface Kept {
  readonly heap: ChunkHeap
  readonly spans: Span<Chunk>[]
  hold: Hold | undefined
}

const cleaner = new Cleaner<Kept>(giveBack)

function giveBack(kept: Kept): void {
  for (const span of kept.spans.splice(0)) kept.heap.give(span)
  kept.hold?.release()
  kept.hold = undefined
}

/**
 * An object that one arena at a time refers to, and nothing else. It is collected with an arena that was not closed, whose memory is then
 * given back. One that was closed leaves its witness to the next arena, because the engine takes a third of the time of an arena to watch an
 * object, and keeps what it has watched until the next full collection.
 */
export class ArenaWitness {
  readonly #kept: Kept

  constructor(heap: ChunkHeap) {
    this.#kept = { heap, spans: [], hold: undefined }
    cleaner.watch(this, this.#kept)
  }

  /** Takes the hold of the memory over. */
  begin(hold: Hold): void {
    this.#kept.hold = hold
  }

  add(span: Span<Chunk>): void {
    this.#kept.spans.push(span)
  }

  /** Gives the spans back, and releases the hold. */
  end(): void {
    giveBack(this.#kept)
  }
}

/** The most witnesses without an arena. */
const MOST_IDLE = 64

/** The witnesses of a memory that no arena has. */
export class ArenaWitnesses {
  readonly #heap: ChunkHeap
  readonly #idle: ArenaWitness[] = []

  constructor(heap: ChunkHeap) {
    this.#heap = heap
  }

  /** Takes a witness for an arena with this hold. */
  take(hold: Hold): ArenaWitness {
    const witness = this.#idle.pop() ?? new ArenaWitness(this.#heap)
    witness.begin(hold)
    return witness
  }

  /** Ends what a witness was taken for. */
  give(witness: ArenaWitness): void {
    witness.end()
    if (this.#idle.length < MOST_IDLE) this.#idle.push(witness)
  }
}

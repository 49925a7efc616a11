import { AllocationError } from '@tenon/core'
import { detachBuffer, fillBytes, isDetached, pageSize } from '@tenon/core/internal'
import { Chunk } from './chunk.ts'
import { closeDescriptor, createSharedMemory, punchHole, sealDescriptor, seals } from './descriptor.ts'
import { FreeList, roundUp, type Span, SPAN_UNIT } from './free-list.ts'
import { closeMapping, type Mapping, openMapping } from './mapping.ts'

/** Free memory of this size is given back to the system. */
const LEAST_PUNCHED = 2 ** 20

/** The free memory that was given back last keeps its pages if at most this many of its bytes were used, so that taking it again is fast. */
const MOST_KEPT = 2 ** 23

export interface HeapOptions {
  /** The size of a chunk in bytes: a power of two from 1 MiB. */
  readonly chunk: number
  /** The most bytes of all chunks together. */
  readonly limit: number
  readonly label: string
  /** Whether each range has pages of its own and ends at the end of the last one. */
  readonly guard: boolean
  /** The descriptor of the only chunk, which can shrink. By default, chunks are made when they are needed. */
  readonly descriptor?: number
}

/** The chunks of a memory and what is free in them. Nothing in it refers to the memory, so a cleaner can have it. */
export class ChunkHeap {
  /** By number. */
  readonly chunks: Map<number, Chunk> = new Map()
  /** Whether memory is handed out. */
  open = true
  /** Whether seals forbid to give parts of chunks back. */
  isSealed = false
  /** Whether each range has pages of its own. */
  readonly isGuarded: boolean
  readonly #options: HeapOptions
  readonly #list = new FreeList<Chunk>()
  /** The first span of each chunk that is handed out in parts. It stays the first one, however the chunk is divided. */
  readonly #first = new Map<Chunk, Span<Chunk>>()
  #lastId = -1
  #byteSize = 0
  #usedBytes = 0
  /** A chunk without used spans, which is kept. */
  #spare: Span<Chunk> | undefined
  /** The free span that was given back last, if it keeps its pages. */
  #kept: Span<Chunk> | undefined

  /** Takes the descriptor over, except if this throws. @throws {AllocationError} */
  constructor(options: HeapOptions) {
    this.#options = options
    this.isGuarded = options.guard
    const { descriptor, chunk: byteSize } = options
    if (descriptor === undefined) return
    const mapping = openMapping(descriptor, 0, byteSize, { isShared: true, isGuarded: true })
    const chunk = new Chunk(this, descriptor, mapping, true, ++this.#lastId)
    this.chunks.set(chunk.id, chunk)
    this.#byteSize = byteSize
    this.#spare = this.#list.add(chunk, byteSize)
    this.#first.set(chunk, this.#spare)
  }

  /** The bytes of all chunks. */
  get byteSize(): number {
    return this.#byteSize
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get limit(): number {
    return this.#options.limit
  }

  /**
   * Takes memory, whose contents are undefined.
   *
   * @returns the span, and the offset in the chunk of the first byte with the alignment.
   * @throws {AllocationError} if the limit would be exceeded, or the system has no memory.
   */
  take(byteSize: number, byteAlignment: number): { readonly span: Span<Chunk>; readonly offset: number } {
    const alignment = Math.max(byteAlignment, SPAN_UNIT)
    const unit = this.#options.guard ? Math.max(alignment, pageSize()) : SPAN_UNIT
    const size = roundUp(Math.max(byteSize, 1), unit)
    const span = this.#list.take(size, Math.max(alignment, unit)) ?? this.#takeFromNew(size, Math.max(alignment, unit))
    if (span.owner === this.#spare?.owner) this.#spare = undefined
    this.#usedBytes += span.byteSize
    const offset = this.#options.guard ? span.end - roundUp(Math.max(byteSize, 1), alignment) : span.offset
    return { span, offset }
  }

  /** Fills a part of a span that was taken with zeros, by default all of it. @param start its offset in the chunk */
  zero(
    { owner, offset, dirtyStart, dirtyEnd, byteSize }: Span<Chunk>,
    start: number = offset,
    size: number = byteSize,
  ): void {
    const [from, to] = [Math.max(start, dirtyStart), Math.min(start + size, dirtyEnd)]
    if (to > from) fillBytes(owner.bytes, 0, from, to)
  }

  /** Gives a taken span back, and its pages to the system. After the heap was closed, this has no effect. */
  give(span: Span<Chunk>): void {
    if (!this.chunks.has(span.owner.id)) return
    this.#usedBytes -= span.byteSize
    const free = this.#list.give(span)
    if (free.isWhole && (this.#spare !== undefined || free.byteSize !== this.#options.chunk || this.isSealed))
      return this.#drop(free)
    if (free.isWhole) this.#spare = free
    const kept = this.#kept
    this.#kept = free.dirtyBytes <= MOST_KEPT ? free : undefined
    if (kept !== undefined && kept !== this.#kept && kept !== free) this.#punch(kept)
    if (this.#kept === undefined) this.#punch(free)
  }

  /** Adds a chunk with contents that nobody can change any more. @throws as {@link take} */
  addFrozen(contents: Uint8Array): Chunk {
    const byteSize = roundUp(Math.max(contents.length, 1), pageSize())
    return this.#newChunk(byteSize, (descriptor) => {
      const writable = openMapping(descriptor, 0, byteSize, { isShared: true, isGuarded: false })
      try {
        new Uint8Array(writable.buffer!).set(contents)
      } finally {
        closeMapping(writable, false)
      }
      sealDescriptor(descriptor, seals.WRITE | seals.SEAL)
      return openMapping(descriptor, 0, byteSize, { isShared: false, isGuarded: false })
    })
  }

  /** Keeps others from mapping the chunks writable from now on. */
  sealForOthers(): void {
    this.isSealed = true
    for (const chunk of this.chunks.values()) if (chunk.isWritable) chunk.sealForOthers()
  }

  /** Closes a chunk without used spans, unless the heap was closed. */
  forget(chunk: Chunk): void {
    if (!this.chunks.has(chunk.id)) return
    this.chunks.delete(chunk.id)
    this.#first.delete(chunk)
    this.#byteSize -= chunk.byteSize
    chunk.close()
  }

  /** Unmaps all chunks and closes their descriptors. Raw views of them become empty. */
  close(): void {
    this.open = false
    const chunks = [...this.chunks.values()]
    this.chunks.clear()
    this.#byteSize = this.#usedBytes = 0
    for (const first of this.#first.values()) detachViews(first)
    this.#first.clear()
    for (const chunk of chunks) chunk.close()
  }

  #takeFromNew(byteSize: number, byteAlignment: number): Span<Chunk> {
    const least = roundUp(byteSize + (byteAlignment > pageSize() ? byteAlignment : 0), pageSize())
    const { chunk: usual, limit } = this.#options
    const isFixed = this.#options.descriptor !== undefined
    if (!isFixed && this.#spare !== undefined && this.#byteSize + least > limit) this.#drop(this.#spare)
    const size = least <= usual && this.#byteSize + usual <= limit ? usual : least
    const chunk = this.#newChunk(size)
    const first = this.#list.add(chunk, size)
    this.#first.set(chunk, first)
    // A search for a size looks into its own list, and into those whose spans are all large enough. This span can be in neither.
    return this.#list.takeFrom(first, byteSize, byteAlignment)
  }

  #newChunk(byteSize: number, map?: (descriptor: number) => Mapping): Chunk {
    this.#checkLimit(byteSize)
    let descriptor
    let chunk
    try {
      descriptor = createSharedMemory(byteSize, this.#options.label)
      const mapping = map?.(descriptor) ?? openMapping(descriptor, 0, byteSize, { isShared: true, isGuarded: false })
      chunk = new Chunk(this, descriptor, mapping, map === undefined, ++this.#lastId)
    } catch (cause) {
      if (descriptor !== undefined) closeDescriptor(descriptor)
      const reason = (cause as Error).message
      throw new AllocationError(`${byteSize} bytes of shared memory could not be allocated: ${reason}`, { cause })
    }
    this.chunks.set(chunk.id, chunk)
    this.#byteSize += byteSize
    if (this.isSealed && chunk.isWritable) chunk.sealForOthers()
    return chunk
  }

  #checkLimit(byteSize: number): void {
    const { limit } = this.#options
    if (this.#byteSize + byteSize <= limit) return
    throw new AllocationError(
      `the shared memory must have at most ${limit} bytes, got ${this.#byteSize} in its chunks and ${byteSize} more`,
      {
        hint: 'Open the memory with a higher limit, close its arenas, or drop tensors in it and let the event loop run.',
        details: { limit, byteSize: this.#byteSize, requested: byteSize, usedBytes: this.#usedBytes },
      },
    )
  }

  #drop(span: Span<Chunk>): void {
    this.#list.remove(span)
    if (this.#spare === span) this.#spare = undefined
    if (this.#kept === span) this.#kept = undefined
    this.forget(span.owner)
  }

  /** Gives the pages of a free span back, if they are many and may not be zero. A file in `/dev/shm` keeps the room that it reserved. */
  #punch(span: Span<Chunk>): void {
    if (this.#options.descriptor !== undefined) return
    if (!span.isFree || span.dirtyBytes < LEAST_PUNCHED || this.isSealed || !this.chunks.has(span.owner.id)) return
    const page = pageSize()
    const [start, end] = [roundUp(span.dirtyStart, page), Math.floor(span.dirtyEnd / page) * page]
    const { owner, dirtyStart, dirtyEnd } = span
    if (!punchHole(owner.descriptor, start, end - start)) return
    owner.bytes.fill(0, dirtyStart, start).fill(0, end, dirtyEnd)
    span.setClean()
  }
}

/** Detaches the raw views of all spans from the first one of a chunk on. */
function detachViews(first: Span<Chunk>): void {
  for (let span: Span<Chunk> | undefined = first; span !== undefined; span = span.after) {
    if (span.views === undefined) continue
    span.owner.isExposed = true
    for (const view of span.views) {
      const buffer = view.deref()
      if (buffer !== undefined && !isDetached(buffer)) detachBuffer(buffer)
    }
  }
}

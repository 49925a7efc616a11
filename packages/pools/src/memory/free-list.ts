/** The unit of allocation, in bytes: offsets and sizes of spans are multiples of it. */
export const SPAN_UNIT = 64

/** The lists of one power of two. */
const LISTS = 8

/** The powers of two of sizes up to 2^53 bytes. */
const LEVELS = 48

/** A range of the memory of one owner, used or free. The spans of an owner are linked in the order of their offsets. */
export class Span<Owner> {
  readonly owner: Owner
  offset: number
  byteSize: number
  isFree = true
  /** The neighbours in memory. */
  before: Span<Owner> | undefined
  after: Span<Owner> | undefined
  /** The neighbours in the list of free spans. */
  previous: Span<Owner> | undefined
  next: Span<Owner> | undefined
  /** The bytes that may not be zero, as offsets from the start of the owner's memory. There are none if they are equal. */
  dirtyStart = 0
  dirtyEnd = 0
  /** The buffers over parts of the bytes that were handed out as raw views. */
  views: WeakRef<ArrayBuffer>[] | undefined

  constructor(owner: Owner, offset: number, byteSize: number) {
    this.owner = owner
    this.offset = offset
    this.byteSize = byteSize
  }

  get end(): number {
    return this.offset + this.byteSize
  }

  get dirtyBytes(): number {
    return this.dirtyEnd - this.dirtyStart
  }

  /** Whether the span is all of its owner's memory. */
  get isWhole(): boolean {
    return this.before === undefined && this.after === undefined
  }

  setClean(): void {
    this.dirtyStart = this.dirtyEnd = this.offset
  }
}

/**
 * The free ranges of the memory of several owners: 8 lists for each power of two of their sizes, so that taking and giving back
 * take the same time however many there are. It lies in the memory of JavaScript, where nobody who shares the memory reaches it.
 */
export class FreeList<Owner extends { readonly address: number }> {
  readonly #first: (Span<Owner> | undefined)[] = Array.from({ length: LISTS * LEVELS }, () => undefined)
  /** A bit for each list of a level that is not empty. */
  readonly #bits = new Uint8Array(LEVELS)

  /** Adds memory of zeros, and returns its span. @param byteSize a multiple of {@link SPAN_UNIT}. */
  add(owner: Owner, byteSize: number): Span<Owner> {
    const span = new Span(owner, 0, byteSize)
    this.#insert(span)
    return span
  }

  /** Takes a free span that is all of its owner's memory out, with which the memory is forgotten. */
  remove(span: Span<Owner>): void {
    this.#unlink(span)
  }

  /**
   * Takes the start of a free span.
   *
   * @param byteSize from 1. @param byteAlignment a power of two, of the address.
   * @returns a span of the size, rounded up, with the bytes in it that may not be zero; undefined if none is large enough.
   */
  take(byteSize: number, byteAlignment: number = SPAN_UNIT): Span<Owner> | undefined {
    const size = roundUp(byteSize, SPAN_UNIT)
    const span = this.#find(size + Math.max(byteAlignment - SPAN_UNIT, 0)) ?? this.#search(size, byteAlignment)
    return span === undefined ? undefined : this.takeFrom(span, size, byteAlignment)
  }

  /** Takes the start of one free span, which is large enough for the size, a multiple of {@link SPAN_UNIT}, with the alignment. */
  takeFrom(span: Span<Owner>, size: number, byteAlignment: number): Span<Owner> {
    this.#unlink(span)
    const gap = gapOf(span, byteAlignment)
    let taken = span
    if (gap !== 0) {
      taken = cut(span, gap)
      this.#insert(span)
    }
    if (taken.byteSize > size) this.#insert(cut(taken, size))
    taken.isFree = false
    return taken
  }

  /** Gives a taken span back, and returns the free one that it has become a part of. All of its bytes count as not zero. */
  give(span: Span<Owner>): Span<Owner> {
    span.isFree = true
    span.views = undefined
    span.dirtyStart = span.offset
    span.dirtyEnd = span.end
    const { before, after } = span
    if (after?.isFree === true) {
      this.#unlink(after)
      join(span, after)
    }
    let merged = span
    if (before?.isFree === true) {
      this.#unlink(before)
      join(before, span)
      merged = before
    }
    this.#insert(merged)
    return merged
  }

  /** Finds a span in the lists whose spans are all large enough. */
  #find(byteSize: number): Span<Owner> | undefined {
    const index = listOf(byteSize, true)
    let level = Math.floor(index / LISTS)
    let bits = this.#bits[level]! & (0xff << (index % LISTS))
    while (bits === 0) {
      if (++level === LEVELS) return undefined
      bits = this.#bits[level]!
    }
    return this.#first[level * LISTS + 31 - Math.clz32(bits & -bits)]
  }

  /** Finds a span in the list of the size itself, whose spans may be too small. */
  #search(byteSize: number, byteAlignment: number): Span<Owner> | undefined {
    for (let span = this.#first[listOf(byteSize, false)]; span !== undefined; span = span.next)
      if (span.byteSize >= byteSize + gapOf(span, byteAlignment)) return span
    return undefined
  }

  #insert(span: Span<Owner>): void {
    const index = listOf(span.byteSize, false)
    const first = this.#first[index]
    span.isFree = true
    span.previous = undefined
    span.next = first
    if (first !== undefined) first.previous = span
    this.#first[index] = span
    this.#bits[Math.floor(index / LISTS)]! |= 1 << (index % LISTS)
  }

  #unlink(span: Span<Owner>): void {
    const { previous, next } = span
    if (next !== undefined) next.previous = previous
    if (previous !== undefined) previous.next = next
    else {
      const index = listOf(span.byteSize, false)
      this.#first[index] = next
      if (next === undefined) this.#bits[Math.floor(index / LISTS)]! &= ~(1 << (index % LISTS))
    }
    span.previous = span.next = undefined
  }
}

/** @param unit a power of two; the result may have more than 32 bits. */
export function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit
}

/** The bytes from the start of a span to the first address with the alignment. */
function gapOf({ owner, offset }: Span<{ readonly address: number }>, byteAlignment: number): number {
  if (byteAlignment <= SPAN_UNIT) return 0
  const start = owner.address + offset
  return roundUp(start, byteAlignment) - start
}

/** The list of a size; or, for a size that is looked for, the first list whose spans all have it. */
function listOf(byteSize: number, isWanted: boolean): number {
  const units = byteSize / SPAN_UNIT
  if (units < LISTS) return units
  // The parts of a level have 2^(level - 3) units each.
  const level = floorLog2(units)
  const part = (isWanted ? Math.ceil : Math.floor)(units / 2 ** (level - 3))
  return (level - 3) * LISTS + part
}

function floorLog2(value: number): number {
  return value < 2 ** 32 ? 31 - Math.clz32(value) : 63 - Math.clz32(value / 2 ** 32)
}

/** Cuts a span behind its first bytes, and returns the rest as a span of its own. */
function cut<Owner>(span: Span<Owner>, byteSize: number): Span<Owner> {
  const rest = new Span(span.owner, span.offset + byteSize, span.byteSize - byteSize)
  rest.before = span
  rest.after = span.after
  if (span.after !== undefined) span.after.before = rest
  span.after = rest
  span.byteSize = byteSize
  rest.dirtyEnd = Math.max(span.dirtyEnd, rest.offset)
  rest.dirtyStart = Math.max(span.dirtyStart, rest.offset)
  if (rest.dirtyStart >= rest.dirtyEnd) rest.setClean()
  span.dirtyEnd = Math.min(span.dirtyEnd, rest.offset)
  if (span.dirtyStart >= span.dirtyEnd) span.setClean()
  return rest
}

/** Adds the span behind it to a span. Neither is in a list. */
function join<Owner>(span: Span<Owner>, behind: Span<Owner>): void {
  span.byteSize += behind.byteSize
  span.after = behind.after
  if (behind.after !== undefined) behind.after.before = span
  if (behind.dirtyBytes === 0) return
  if (span.dirtyBytes === 0) span.dirtyStart = behind.dirtyStart
  span.dirtyEnd = behind.dirtyEnd
  behind.setClean()
}

import type { Segment } from '@tenon/core'

/** The memory that the pointers of a tensor may name: segments in the order of their addresses. */
export class Regions {
  readonly segments: Segment[] = []
  #last: Segment | undefined

  constructor(segments: readonly Segment[] = []) {
    for (const segment of segments) this.add(segment)
  }

  add(segment: Segment): void {
    const address = startOf(segment)
    let at = this.segments.length
    while (at > 0 && startOf(this.segments[at - 1]!) > address) at--
    this.segments.splice(at, 0, segment)
  }

  /** The segment that has all of these bytes. */
  find(address: number, byteSize: number): Segment | undefined {
    const last = this.#last
    if (last !== undefined && holds(last, address, byteSize)) return last
    const { segments } = this
    let [low, high] = [0, segments.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (startOf(segments[middle]!) <= address) low = middle + 1
      else high = middle
    }
    const found = segments[low - 1]
    if (found === undefined || !holds(found, address, byteSize)) return undefined
    this.#last = found
    return found
  }
}

/** The address of a segment's first byte. */
export function startOf(segment: Segment): number {
  return segment.block.address + segment.base
}

function holds(segment: Segment, address: number, byteSize: number): boolean {
  const start = startOf(segment)
  return address >= start && address + byteSize <= start + segment.byteSize
}

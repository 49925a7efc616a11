import type { Segment } from '@tenon/core'

/** The memory that the pointers of a tensor may name: segments in the order of their addresses, which do not contain each other. */
export class Regions {
  #segments: Segment[] | undefined
  #last: Segment | undefined

  constructor(segments?: readonly Segment[]) {
    if (segments !== undefined) for (const segment of segments) this.add(segment)
  }

  get segments(): readonly Segment[] {
    return this.#segments ?? NONE
  }

  /** Adds a segment unless another contains it. Removes closed memory at the same addresses. */
  add(segment: Segment): void {
    // Most tensors have one segment, or none.
    if (this.segments.length === 0) {
      this.#segments = [segment]
      return
    }
    const address = startOf(segment)
    const segments = this.#segments!
    let end = segments.length
    while (end > 0 && startOf(segments[end - 1]!) >= address + segment.byteSize) end--
    let start = end
    while (start > 0 && startOf(segments[start - 1]!) + segments[start - 1]!.byteSize > address) start--
    const near = segments.slice(start, end).filter(({ block }) => block.gate.alive)
    if (near.some((other) => other.block === segment.block && holds(other, address, segment.byteSize))) return
    const rest = near.filter((other) => !holds(segment, startOf(other), other.byteSize))
    rest.push(segment)
    segments.splice(start, end - start, ...rest.toSorted((a, b) => startOf(a) - startOf(b)))
    this.#last = undefined
  }

  keepOnly(segment: Segment | undefined): void {
    this.#segments = segment === undefined ? undefined : [segment]
    this.#last = undefined
  }

  /** Returns the segment that contains all of these bytes. */
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

const NONE: readonly Segment[] = []

export function startOf(segment: Segment): number {
  return segment.block.address + segment.base
}

function holds(segment: Segment, address: number, byteSize: number): boolean {
  const start = startOf(segment)
  return address >= start && address + byteSize <= start + segment.byteSize
}

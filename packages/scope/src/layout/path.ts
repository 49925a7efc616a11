import { ArgumentError, BoundsError } from '@tenon/core'
import { checkSize, describe, inspectAsText, wrongType } from '@tenon/core/internal'
import { checkAligned, checkOffset } from '../segment/locate.ts'
import { checkSegment, type MemorySegment } from '../segment/memory-segment.ts'
import { AddressLayout } from './address-layout.ts'
import { GroupLayout } from './group-layout.ts'
import { type Layout, sizeOf } from './memory-layout.ts'
import { SequenceLayout } from './sequence-layout.ts'

/** A path element for a sequence whose element is selected by each access, as `start + index * step`. */
export interface FreeElement {
  readonly start: number
  readonly step: number
}

/** The path element that follows a pointer to its target. */
export const dereference: unique symbol = Symbol('dereference')

/**
 * One step into a layout: the name of a member, the index of a member or element, `{ start, step }` for an element that
 * each access selects, or `dereference` for the target of a pointer.
 */
export type PathElement = string | number | FreeElement | typeof dereference

interface Stride {
  readonly byteStep: number
  /** The number of legal indexes, or undefined for an open sequence. */
  readonly count: number | undefined
}

/** A part of a path that follows no pointer: its offset, and the steps of its indexes. */
interface Leg {
  readonly byteOffset: number
  readonly strides: readonly Stride[]
}

interface Route {
  readonly followed: readonly (Leg & { readonly pointer: AddressLayout })[]
  readonly last: Leg
  readonly indexCount: number
  readonly layout: Layout
}

/** Resolves a path. @throws {ArgumentError | BoundsError} if it does not fit the layout. */
function resolve(root: Layout, path: readonly PathElement[]): Route {
  const followed: (Leg & { pointer: AddressLayout })[] = []
  let layout = root
  let byteOffset = 0
  let strides: Stride[] = []
  for (const element of path) {
    if (element === dereference) {
      if (!(layout instanceof AddressLayout) || layout.target === undefined) {
        throw new ArgumentError(`only an address with a target layout can be dereferenced, got ${layout}`)
      }
      followed.push({ byteOffset, strides, pointer: layout })
      layout = layout.target
      byteOffset = 0
      strides = []
    } else if (layout instanceof GroupLayout && (typeof element === 'string' || typeof element === 'number')) {
      const member = layout.member(element)
      byteOffset += member.byteOffset
      layout = member.layout
    } else if (layout instanceof SequenceLayout && typeof element === 'number') {
      byteOffset += checkIndex(element, 'the index', layout.elementCount) * sizeOf(layout.element)
      layout = layout.element
    } else if (layout instanceof SequenceLayout && typeof element === 'object' && element !== null) {
      const { start, step } = checkFree(layout, element)
      const size = sizeOf(layout.element)
      byteOffset += start * size
      strides.push({ byteStep: step * size, count: countOf(layout.elementCount, start, step) })
      layout = layout.element
    } else {
      throw new ArgumentError(`the path element ${describe(element)} does not lead into ${layout}`)
    }
  }
  const indexCount = followed.reduce((count, leg) => count + leg.strides.length, strides.length)
  return { followed, last: { byteOffset, strides }, indexCount, layout }
}

function checkFree(layout: SequenceLayout, element: FreeElement): FreeElement {
  const start = checkIndex(element.start, 'start', layout.elementCount)
  if (!Number.isSafeInteger(element.step) || element.step === 0) {
    throw wrongType('step', 'a whole number other than 0', element.step)
  }
  return { start, step: element.step }
}

function countOf(elements: number | undefined, start: number, step: number): number | undefined {
  if (step < 0) return Math.floor(start / -step) + 1
  return elements === undefined ? undefined : Math.ceil((elements - start) / step)
}

function offsetOf({ byteOffset, strides }: Leg, indexes: readonly number[], cursor: number): number {
  let offset = byteOffset
  for (let i = 0; i < strides.length; i++) {
    const { byteStep, count } = strides[i]!
    const index = indexes[cursor + i]!
    const isLegal = typeof index === 'number' && index >>> 0 === index && (count === undefined || index < count)
    offset += (isLegal ? index : checkIndex(index, `index ${cursor + i}`, count)) * byteStep
  }
  return offset
}

function checkIndex(index: unknown, name: string, count: number | undefined): number {
  const checked = checkSize(index, name, 'elements')
  if (count === undefined || checked < count) return checked
  throw new BoundsError(`${name} must be below ${count}, got ${checked}`, { details: { index: checked, count } })
}

/** @throws {ArgumentError} if the number of indexes is wrong. */
function checkIndexCount({ indexCount }: Route, indexes: readonly number[]): void {
  if (indexes.length === indexCount) return
  throw new ArgumentError(`the number of indexes must be ${indexCount}, got ${indexes.length}`, {
    hint: 'Pass an offset in bytes first, and then an index for each element() of the path: handle.get(segment, 0, 3).',
  })
}

/** Follows the pointers of a route. @returns the segment of its last leg. */
function follow(
  { followed }: Route,
  segment: MemorySegment,
  baseOffset: number,
  indexes: readonly number[],
): MemorySegment {
  let place = segment
  let start = baseOffset
  let cursor = 0
  for (let i = 0; i < followed.length; i++) {
    const leg = followed[i]!
    place = leg.pointer.read(place, start + offsetOf(leg, indexes, cursor))
    cursor += leg.strides.length
    start = 0
  }
  return place
}

/** The offset of the end of a route, in the segment that {@link follow} returns. */
function endOf({ followed, last, indexCount }: Route, baseOffset: number, indexes: readonly number[]): number {
  const start = followed.length === 0 ? baseOffset : 0
  return start + offsetOf(last, indexes, indexCount - last.strides.length)
}

/** Up to this alignment, the skew of a block has all bits of the address that matter. */
const LARGEST_SKEW = 8

/** @throws {AlignmentError} if the layout is not aligned. @throws {BoundsError} if it begins outside of the segment. */
function checkRoot({ byteAlignment }: Layout, segment: MemorySegment, baseOffset: number): void {
  const { block, base } = segment
  const low = (block.skew + base + baseOffset) & (byteAlignment - 1)
  // The division of an address takes longer than the access.
  if (low === 0 && byteAlignment <= LARGEST_SKEW) return
  checkAligned(block.address + base + checkOffset(segment, baseOffset, 0), byteAlignment)
}

/** Reads and writes the value at the end of a path, in any segment that contains the layout at its alignment. */
export class VarHandle<Value = unknown> {
  /** The layout at the end of the path. */
  readonly layout: Layout<Value>
  readonly #route: Route
  /** The whole layout, if an access cannot check its alignment by that of the value. */
  readonly #root: Layout | undefined

  /** @internal */
  constructor(root: Layout, path: readonly PathElement[]) {
    this.#route = resolve(root, path)
    const { followed, layout } = this.#route
    this.#root = followed.length > 0 || root.byteAlignment > layout.byteAlignment ? root : undefined
    this.layout = this.#route.layout as Layout<Value>
  }

  /**
   * Reads the value.
   *
   * @param baseOffset the offset of the layout in the segment, in bytes.
   * @param indexes an index for each free element of the path, in order.
   * @throws {ArgumentError} if the number of indexes is wrong. @throws {BoundsError} if an index is too large.
   * @throws {AlignmentError} if the layout is not aligned. @throws the errors of an access
   */
  get(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): Value {
    const place = this.#enter(segment, baseOffset, indexes)
    return this.layout.read(place, endOf(this.#route, baseOffset, indexes))
  }

  /** Writes the value, which precedes the indexes. @throws the errors of {@link get} */
  set(segment: MemorySegment, baseOffset: number, value: Value, ...indexes: readonly number[]): void {
    const place = this.#enter(segment, baseOffset, indexes)
    this.layout.write(place, endOf(this.#route, baseOffset, indexes), value)
  }

  /** Returns the slice that the handle reads and writes. */
  slice(segment: MemorySegment, baseOffset: number, ...indexes: readonly number[]): MemorySegment {
    const place = this.#enter(segment, baseOffset, indexes)
    return place.asSlice(endOf(this.#route, baseOffset, indexes), this.layout.byteSize)
  }

  /** The offset from the layout's start, in bytes. @throws {ArgumentError} if the path follows a pointer. */
  byteOffset(...indexes: readonly number[]): number {
    if (this.#route.followed.length > 0)
      throw new ArgumentError('a path that follows a pointer does not have an offset')
    checkIndexCount(this.#route, indexes)
    return endOf(this.#route, 0, indexes)
  }

  #enter(segment: MemorySegment, baseOffset: number, indexes: readonly number[]): MemorySegment {
    checkSegment(segment, 'segment')
    if (typeof baseOffset !== 'number') throw wrongType('baseOffset', 'a number', baseOffset)
    checkIndexCount(this.#route, indexes)
    if (this.#root !== undefined) checkRoot(this.#root, segment, baseOffset)
    return follow(this.#route, segment, baseOffset, indexes)
  }

  toString(): string {
    return `VarHandle of ${this.layout}, free indexes: ${this.#route.indexCount}`
  }

  static {
    inspectAsText(VarHandle)
  }
}

import { ArgumentError } from '@tenon/core'
import { checkAlignment, checkName, describe } from '@tenon/core/internal'
import type { MemorySegment } from '../segment/memory-segment.ts'

/** What a layout becomes when some of its properties change. */
export interface Changes {
  readonly name?: string
  readonly byteAlignment?: number
}

/** How values lie in memory. Layouts never change: `with…` gives another one. */
export abstract class Layout<Value = unknown> {
  /** In bytes; undefined if it ends with an open sequence that is not bound yet. */
  readonly byteSize: number | undefined
  readonly byteAlignment: number
  readonly name: string | undefined

  /** @internal */
  constructor(byteSize: number | undefined, byteAlignment: number, name: string | undefined) {
    this.byteSize = byteSize
    this.byteAlignment = byteAlignment
    this.name = name
  }

  /** @internal Makes a copy with changes. */
  protected abstract copy(changes: Changes): this

  /** How it is written down, without its name. Equal layouts have equal ones. */
  protected abstract describeShape(): string

  /** What stands at `byteOffset`: a value, or a slice for what is made of parts. @throws as an access does */
  abstract read(segment: MemorySegment, byteOffset: number): Value

  /** @throws {ArgumentError} if it is made of parts. @throws as an access does */
  abstract write(segment: MemorySegment, byteOffset: number, value: Value): void

  /** The same with a name. */
  withName(name: string): this {
    return this.copy({ name: checkName(name, 'name') })
  }

  /** The same with another alignment, in bytes: 1 for an unaligned or packed one. */
  withByteAlignment(byteAlignment: number): this {
    return this.copy({ byteAlignment: checkAlignment(byteAlignment) })
  }

  /** Whether both have the same structure, names, orders and alignments. */
  equals(other: unknown): boolean {
    return other instanceof Layout && String(other) === String(this)
  }

  /** For example `point{x:float64<,y:float64<}%8`: equal for equal layouts, so that it can be a key. */
  toString(): string {
    return `${this.name ?? ''}${this.describeShape()}%${this.byteAlignment}`
  }
}

/** @throws {ArgumentError} if it is no layout. */
export function checkLayout<Any extends Layout>(value: Any, name: string = 'layout'): Any {
  if (value instanceof Layout) return value
  throw new ArgumentError(`${name} must be a layout, got ${describe(value)}`)
}

/** The size of a layout that must have one. @throws {ArgumentError} if it has none. */
export function sizeOf(layout: Layout): number {
  if (layout.byteSize !== undefined) return layout.byteSize
  throw new ArgumentError(`the layout ${layout} must have a size, it ends with an open sequence`, {
    hint: 'bind the sequence with withElementCount().',
  })
}

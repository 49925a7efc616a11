import { ArgumentError } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSegment } from '../segment/usable.ts'
import { type GroupLayout, type Members, PaddingLayout, StructLayout, UnionLayout } from './group-layout.ts'
import type { Layout } from './memory-layout.ts'
import { sizeOf } from './memory-layout.ts'

/** A struct in memory as an object: reading a property reads the memory. */
export type Accessor<Shape extends Members> = {
  -readonly [Name in keyof Shape]: Shape[Name] extends GroupLayout<infer Inner>
    ? Accessor<Inner>
    : Shape[Name] extends Layout<infer Value>
      ? Value
      : never
}

/** Where an accessor looks. */
interface Cursor {
  readonly segment: MemorySegment
  byteOffset: number
}

/** Moves over the structs of a segment, one object for all of them. */
export interface AccessorClass<Shape extends Members> {
  /** An object over the struct at `byteOffset`. It checks each access, not its place. */
  at(segment: MemorySegment, byteOffset?: number): Accessor<Shape>
  /** One object that stands over each struct of the segment in turn. */
  each(segment: MemorySegment): IteratorObject<Accessor<Shape>, undefined>
}

/** Where the properties find their memory; a symbol, so that members can have any name. */
const cursorOf = Symbol('cursor')
/** What an object is an accessor of. */
const layoutOf = Symbol('layout')

type Instance = { readonly [cursorOf]: Cursor; readonly [layoutOf]: GroupLayout }

/** Generates the class of a struct's or union's accessors. Once for each layout: keep it. */
export function accessorOf<Shape extends Members>(layout: GroupLayout<Shape>): AccessorClass<Shape> {
  const prototype: object = Object.create(null, { [layoutOf]: { value: layout } })
  for (const { name, layout: member, byteOffset } of layout.members) {
    if (!(member instanceof PaddingLayout)) Object.defineProperty(prototype, name, propertyOf(member, byteOffset))
  }
  class Access {
    declare readonly [cursorOf]: Cursor
    constructor(cursor: Cursor) {
      this[cursorOf as never] = cursor as never
    }
  }
  Object.setPrototypeOf(Access.prototype, prototype)
  const make = (cursor: Cursor): Accessor<Shape> => new Access(cursor) as unknown as Accessor<Shape>
  return {
    at: (segment, byteOffset = 0) =>
      make({ segment: checkSegment(segment, 'segment'), byteOffset: checkSize(byteOffset, 'byteOffset') }),
    each(segment) {
      const cursor: Cursor = { segment: checkSegment(segment, 'segment'), byteOffset: 0 }
      const size = sizeOf(layout)
      if (size === 0)
        throw new ArgumentError(`the layout ${layout} must have bytes to go through a segment, it has none`)
      return new Each(make(cursor), cursor, size)
    },
  }
}

/** Moves a cursor over a segment, struct by struct. A generator would take five times as long for each step. */
class Each<Value> extends Iterator<Value, undefined> {
  readonly #value: Value
  readonly #cursor: Cursor
  readonly #size: number
  #next = 0

  constructor(value: Value, cursor: Cursor, size: number) {
    super()
    this.#value = value
    this.#cursor = cursor
    this.#size = size
  }

  next(): IteratorResult<Value, undefined> {
    const start = this.#next
    const end = start + this.#size
    if (end > this.#cursor.segment.byteSize) return { done: true, value: undefined }
    this.#cursor.byteOffset = start
    this.#next = end
    return { done: false, value: this.#value }
  }
}

/** The memory of a struct or union that is assigned as a whole, as C does it: of an accessor, or as a segment. */
function memoryOf(value: unknown, layout: GroupLayout): MemorySegment {
  if (value instanceof MemorySegment) return value
  const isInstance = typeof value === 'object' && value !== null && layoutOf in value
  if (!isInstance || !layout.equals((value as Instance)[layoutOf])) {
    throw new ArgumentError(
      `${layout} must be assigned an accessor or a segment of the same layout, got ${describe(value)}`,
    )
  }
  const { segment, byteOffset } = (value as Instance)[cursorOf]
  return segment.asSlice(byteOffset, layout.byteSize)
}

function propertyOf(member: Layout, byteOffset: number): PropertyDescriptor {
  if (member instanceof StructLayout || member instanceof UnionLayout) {
    const inner = accessorOf(member)
    return {
      enumerable: true,
      get(this: Instance) {
        const { segment, byteOffset: start } = this[cursorOf]
        return inner.at(segment, start + byteOffset)
      },
      set(this: Instance, value: unknown) {
        const { segment, byteOffset: start } = this[cursorOf]
        member.write(segment, start + byteOffset, memoryOf(value, member))
      },
    }
  }
  return {
    enumerable: true,
    get(this: Instance) {
      const { segment, byteOffset: start } = this[cursorOf]
      return member.read(segment, start + byteOffset)
    },
    set(this: Instance, value: unknown) {
      const { segment, byteOffset: start } = this[cursorOf]
      member.write(segment, start + byteOffset, value)
    },
  }
}

import { ArgumentError } from '@tenon/core'
import { checkSize, inspect, inspectCustom, wrongType } from '@tenon/core/internal'
import { printAs } from '../print-as.ts'
import { checkSegment, MemorySegment } from '../segment/memory-segment.ts'
import { GroupLayout, type Members, PaddingLayout } from './group-layout.ts'
import { type Layout, sizeOf } from './memory-layout.ts'

/** An object over a struct in memory. The properties of the object read and write the memory. */
export type Accessor<Shape extends Members> = {
  -readonly [Name in keyof Shape]: Shape[Name] extends GroupLayout<infer Inner>
    ? Accessor<Inner>
    : Shape[Name] extends Layout<infer Value>
      ? Value
      : never
}

interface Cursor {
  readonly segment: MemorySegment
  byteOffset: number
}

/** Creates accessors for the structs in a segment. */
export interface AccessorClass<Shape extends Members> {
  /** Returns an object over the struct at `byteOffset`. Each access through the object checks the bounds. */
  at(segment: MemorySegment, byteOffset?: number): Accessor<Shape>
  /** Iterates over the structs in the segment. All steps return the same object, moved to the next struct. */
  each(segment: MemorySegment): IteratorObject<Accessor<Shape>, undefined>
}

/** The place of an accessor. It is a symbol, so that members can have any name. */
const cursorOf = Symbol('cursor')
const layoutOf = Symbol('layout')

type Instance = { readonly [cursorOf]: Cursor; readonly [layoutOf]: GroupLayout }

/** Generates the class of a layout's accessors. Create it once for each layout. */
export function accessorOf<Shape extends Members>(layout: GroupLayout<Shape>): AccessorClass<Shape> {
  const prototype: object = Object.create(null, {
    [layoutOf]: { value: layout },
    [inspectCustom]: { value: textOf },
    [Symbol.toPrimitive]: { value: textOf },
  })
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
  return printAs<AccessorClass<Shape>>(`accessors of ${layout}`, {
    at: (segment, byteOffset = 0) =>
      make({ segment: checkSegment(segment, 'segment'), byteOffset: checkSize(byteOffset, 'byteOffset') }),
    each(segment) {
      const cursor: Cursor = { segment: checkSegment(segment, 'segment'), byteOffset: 0 }
      const size = sizeOf(layout)
      if (size === 0) throw new ArgumentError(`the layout ${layout} must be larger than 0 bytes`)
      return new Each(make(cursor), cursor, size)
    },
  })
}

/** The values of an accessor in one line, or its segment if the memory cannot be read. */
function textOf(this: Instance): string {
  const { members, name = 'struct' } = this[layoutOf]
  try {
    const values = members
      .filter(({ layout }) => !(layout instanceof PaddingLayout))
      .map((member) => [member.name, this[member.name as never]])
    return `${name} ${inspect(Object.fromEntries(values), { breakLength: Infinity })}`
  } catch {
    return `${name} in ${this[cursorOf].segment}, which cannot be read`
  }
}

/** Moves a cursor from struct to struct. A generator would take five times as long for each step. */
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

function memoryOf(value: unknown, layout: GroupLayout): MemorySegment {
  if (value instanceof MemorySegment) return value
  const isInstance = typeof value === 'object' && value !== null && layoutOf in value
  if (!isInstance || !layout.equals((value as Instance)[layoutOf])) {
    throw wrongType(`a value of ${layout}`, 'an accessor or a segment of the same layout', value)
  }
  const { segment, byteOffset } = (value as Instance)[cursorOf]
  return segment.asSlice(byteOffset, layout.byteSize)
}

function propertyOf(member: Layout, byteOffset: number): PropertyDescriptor {
  const group = member instanceof GroupLayout ? member : undefined
  const inner = group === undefined ? undefined : accessorOf(group)
  return {
    enumerable: true,
    get:
      inner === undefined
        ? function get(this: Instance) {
            const { segment, byteOffset: start } = this[cursorOf]
            return member.read(segment, start + byteOffset)
          }
        : function get(this: Instance) {
            const { segment, byteOffset: start } = this[cursorOf]
            return inner.at(segment, start + byteOffset)
          },
    set(this: Instance, value: unknown) {
      const { segment, byteOffset: start } = this[cursorOf]
      member.write(segment, start + byteOffset, group === undefined ? value : memoryOf(value, group))
    },
  }
}

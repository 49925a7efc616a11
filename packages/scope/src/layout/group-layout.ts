import { ArgumentError, BoundsError } from '@tenon/core'
import { checkSize, describe, didYouMean, wrongType } from '@tenon/core/internal'
import { allocateValues } from '../allocator/allocate-values.ts'
import type { AllocatorLike } from '../allocator/check-allocator.ts'
import { checkSegment, type MemorySegment } from '../segment/memory-segment.ts'
import { Layout, quote, sizeOf } from './memory-layout.ts'

/** The layout of padding, whose bytes have no meaning. */
export class PaddingLayout extends Layout<MemorySegment, number> {
  override allocateIn(allocator: AllocatorLike, values: readonly MemorySegment[]): MemorySegment {
    return allocateValues(this, allocator, values)
  }

  override read(segment: MemorySegment, byteOffset: number): MemorySegment {
    return segment.asSlice(byteOffset, this.byteSize)
  }

  override write(): never {
    throw new ArgumentError('padding cannot be written')
  }

  protected override copy(name: string | undefined, byteAlignment: number): this {
    return new PaddingLayout(this.byteSize, byteAlignment, name) as this
  }

  protected override describeShape(): string {
    return `:padding${this.byteSize}`
  }
}

/** The layouts of a group's members by name, in order. */
export type Members = Readonly<Record<string, Layout>>

/** A member of a group and its place. */
export interface Member {
  readonly name: string
  readonly layout: Layout
  /** The offset from the group's start in bytes. */
  readonly byteOffset: number
}

/** The type of the size of a struct, which is known if the sizes of all members are known. */
export type StructSize<Shape extends Members> = [keyof Shape] extends [never] ? number : Shape[keyof Shape]['byteSize']

/** The base class of struct and union layouts. Reading a struct or union returns a slice. */
export abstract class GroupLayout<
  Shape extends Members = Members,
  Size extends number | undefined = number | undefined,
> extends Layout<MemorySegment, Size> {
  readonly members: readonly Member[]
  /** The type of the members, from which TypeScript infers the types of accessors. The field does not exist at run time. */
  declare readonly shape: Shape

  /** @internal */
  constructor(members: readonly Member[], byteSize: Size, byteAlignment: number, name: string | undefined) {
    super(byteSize, byteAlignment, name)
    this.members = members
  }

  /** Returns a member by name or index. @throws {ArgumentError} for an unknown name. @throws {BoundsError} for a bad index. */
  member(key: string | number): Member {
    const member = typeof key === 'number' ? this.members[key] : this.members.find(({ name }) => name === key)
    if (member !== undefined) return member
    const names = this.members.map(({ name }) => name)
    if (typeof key === 'number') throw new BoundsError(`the index must be below ${names.length} in ${this}, got ${key}`)
    throw new ArgumentError(`the layout ${this} does not have a member ${describe(key)}`, {
      hint: (typeof key === 'string' ? didYouMean(key, names) : undefined) ?? `The members are ${names.join(', ')}.`,
      details: { expected: names, received: describe(key) },
    })
  }

  override allocateIn(allocator: AllocatorLike, values: readonly MemorySegment[]): MemorySegment {
    return allocateValues(this, allocator, values)
  }

  override read(segment: MemorySegment, byteOffset: number): MemorySegment {
    return segment.asSlice(byteOffset, sizeOf(this), this.byteAlignment)
  }

  /** Copies the bytes of a segment of the same size. */
  override write(segment: MemorySegment, byteOffset: number, value: MemorySegment): void {
    checkSegment(value, 'a struct or union')
    const target = this.read(segment, byteOffset)
    if (value.byteSize !== target.byteSize) {
      throw new ArgumentError(`${this} must be written from ${target.byteSize} bytes, got ${value.byteSize}`)
    }
    target.copyFrom(value)
  }

  protected override get innerAlignment(): number {
    return alignmentOf(this.members)
  }

  protected override copy(name: string | undefined, byteAlignment: number): this {
    const Group = this.constructor as new (...values: ConstructorParameters<typeof StructLayout>) => this
    return new Group(this.members, this.byteSize, byteAlignment, name)
  }
}

function checkMembers(members: unknown): [string, Layout][] {
  if (typeof members !== 'object' || members === null) {
    throw wrongType('members', 'an object of layouts', members)
  }
  return Object.entries(members).map(([name, layout]) => {
    if (!(layout instanceof Layout))
      throw wrongType(`the member ${name}`, 'a layout', layout, 'Write MemoryLayout.struct({ x: MemoryLayout.int32 }).')
    if (/^\d+$/.test(name)) {
      throw new ArgumentError(`the name of a member must not be a number, got ${name}`, {
        hint: 'Choose another name, because JavaScript moves numeric keys to the front.',
      })
    }
    return [name, layout]
  })
}

/** The largest alignment of members. */
const alignmentOf = (members: readonly Member[]): number =>
  members.reduce((largest, { layout }) => Math.max(largest, layout.byteAlignment), 1)

const alignUp = (offset: number, alignment: number): number => Math.ceil(offset / alignment) * alignment

/** Members that follow each other, each at a multiple of its alignment, as C lays them out. */
export class StructLayout<
  Shape extends Members = Members,
  Size extends number | undefined = number | undefined,
> extends GroupLayout<Shape, Size> {
  /** @internal */
  static of<Shape extends Members>(shape: Shape): StructLayout<Shape, StructSize<Shape>> {
    const members: Member[] = []
    let end: number | undefined = 0
    for (const [name, layout] of checkMembers(shape)) {
      if (end === undefined) throw new ArgumentError(`an open sequence must be the last member, but ${name} follows it`)
      const byteOffset = alignUp(end, layout.byteAlignment)
      members.push({ name, layout, byteOffset })
      end = layout.byteSize === undefined ? undefined : byteOffset + layout.byteSize
    }
    const alignment = alignmentOf(members)
    const size = end === undefined ? undefined : checkSize(alignUp(end, alignment), 'the size of a struct')
    return new StructLayout(members, size as StructSize<Shape>, alignment, undefined)
  }

  protected override describeShape(): string {
    return `{${this.members.map(({ name, layout, byteOffset }) => `${quote(name)}@${byteOffset}=${layout}`).join(',')}}${this.byteSize ?? ''}`
  }
}

/** Members that share their first byte. */
export class UnionLayout<Shape extends Members = Members> extends GroupLayout<Shape, number> {
  /** @internal */
  static of<Shape extends Members>(shape: Shape): UnionLayout<Shape> {
    const members = checkMembers(shape).map(([name, layout]) => ({ name, layout, byteOffset: 0 }))
    const alignment = alignmentOf(members)
    const size = members.reduce((largest, { layout }) => Math.max(largest, sizeOf(layout)), 0)
    return new UnionLayout(members, checkSize(alignUp(size, alignment), 'the size of a union'), alignment, undefined)
  }

  protected override describeShape(): string {
    return `{${this.members.map(({ name, layout }) => `${quote(name)}=${layout}`).join('|')}}${this.byteSize}`
  }
}

import { ArgumentError } from '@tenon/core'
import { checkSize, wrongType, wrongValue } from '@tenon/core/internal'
import type { ScalarValues } from '../generated/scalars.ts'
import { printAs } from '../print-as.ts'
import { type AccessorClass, accessorOf } from './accessor.ts'
import { AddressLayout } from './address-layout.ts'
import { GroupLayout, type Members, PaddingLayout, StructLayout, type StructSize, UnionLayout } from './group-layout.ts'
import { checkLayout, type Layout } from './memory-layout.ts'
import { dereference, type FreeElement, type PathElement, VarHandle } from './path.ts'
import { SequenceLayout } from './sequence-layout.ts'
import { ValueLayout } from './value-layout.ts'

type ScalarLayouts = { readonly [Kind in keyof ScalarValues]: ValueLayout<ScalarValues[Kind]> }

/** The layouts and functions of {@link MemoryLayout}. */
export interface MemoryLayouts extends ScalarLayouts {
  /** A pointer. */
  readonly address: AddressLayout
  /**
   * Returns a struct layout. As in C, each member follows the previous one, at a multiple of its own alignment.
   *
   * @example
   * const point = MemoryLayout.struct({ id: MemoryLayout.uint8, x: MemoryLayout.float64 })
   * point.byteSize // 16
   */
  struct<Shape extends Members>(members: Shape): StructLayout<Shape, StructSize<Shape>>
  /** Returns a union layout, whose members all start at the same address. */
  union<Shape extends Members>(members: Shape): UnionLayout<Shape>
  /** Returns a sequence layout. Without a count, the sequence has as many elements as the segment has room for. */
  sequence<Element>(element: Layout<Element>, elementCount: number): SequenceLayout<Element, number>
  sequence<Element>(element: Layout<Element>): SequenceLayout<Element, undefined>
  sequence<Element>(element: Layout<Element>, elementCount?: number): SequenceLayout<Element>
  /** Returns the layout of padding, whose bytes have no meaning. */
  padding(byteSize: number): PaddingLayout
  /** Returns a path element for an element that each access selects, as `start + index * step`. */
  element(start?: number, step?: number): FreeElement
  /** The path element for the target of a pointer. */
  readonly dereference: typeof dereference
  /**
   * Returns a handle that reads and writes the value at the end of a path.
   *
   * @throws {ArgumentError | BoundsError} if the path does not exist in the layout.
   * @example
   * const points = MemoryLayout.sequence(point, 10)
   * const x = MemoryLayout.varHandle(points, MemoryLayout.element(), 'x')
   * x.set(segment, 0, 1.5, 3) // the x of the fourth point
   */
  varHandle<Value = unknown>(layout: Layout, ...path: readonly PathElement[]): VarHandle<Value>
  /** Returns the layout at the end of a path. @throws {ArgumentError} if the path follows a pointer. */
  select(layout: Layout, ...path: readonly PathElement[]): Layout
  /** Returns the offset of the value at the end of a path, in bytes. Free elements have index 0. */
  byteOffset(layout: Layout, ...path: readonly PathElement[]): number
  /**
   * Returns a class of objects over structs in memory. The properties of an object read and write the struct's members.
   *
   * @example
   * const Point = MemoryLayout.accessor(point)
   * const p = Point.at(segment)
   * p.x = 1.5
   */
  accessor<Shape extends Members>(layout: GroupLayout<Shape>): AccessorClass<Shape>
}

function newSequence<Element>(element: Layout<Element>, elementCount?: number): SequenceLayout<Element> {
  checkLayout(element, 'element', 'Pass the layout before the count: MemoryLayout.sequence(MemoryLayout.int32, 10).')
  const count = elementCount === undefined ? undefined : checkSize(elementCount, 'elementCount', 'elements')
  return new SequenceLayout(element, count)
}

const scalar = <Kind extends keyof ScalarValues>(kind: Kind): ValueLayout<ScalarValues[Kind]> => new ValueLayout(kind)

/**
 * The scalar layouts, and functions that combine layouts to structs, unions, sequences and padding. Structs and unions are
 * laid out as in C. Sizes and alignments are in bytes.
 *
 * @throws {ArgumentError} from the functions, if a layout or a path is not valid.
 */
export const MemoryLayout: MemoryLayouts = printAs<MemoryLayouts>('MemoryLayout', {
  bool: scalar('bool'),
  int8: scalar('int8'),
  uint8: scalar('uint8'),
  int16: scalar('int16'),
  uint16: scalar('uint16'),
  int32: scalar('int32'),
  uint32: scalar('uint32'),
  int64: scalar('int64'),
  uint64: scalar('uint64'),
  float32: scalar('float32'),
  float64: scalar('float64'),
  address: new AddressLayout(),
  struct: (members) => StructLayout.of(members),
  union: (members) => UnionLayout.of(members),
  sequence: newSequence as MemoryLayouts['sequence'],
  padding(byteSize) {
    const size = checkSize(byteSize, 'byteSize')
    if (size === 0) throw wrongValue('byteSize', 'a number of bytes from 1', byteSize)
    return new PaddingLayout(size, 1, undefined)
  },
  element: (start = 0, step = 1) => ({ start, step }),
  dereference,
  varHandle<Value>(layout: Layout, ...path: readonly PathElement[]): VarHandle<Value> {
    checkLayout(layout, 'layout')
    return new VarHandle<Value>(layout, path)
  },
  select(layout, ...path) {
    if (!path.includes(dereference)) return MemoryLayout.varHandle(layout, ...path).layout
    throw new ArgumentError('a path that follows a pointer leaves the layout, so it must not contain dereference', {
      hint: 'Select the address, and then in its target.',
    })
  },
  byteOffset(layout, ...path) {
    const free = path.filter((element) => typeof element === 'object').length
    return MemoryLayout.varHandle(layout, ...path).byteOffset(...new Array<number>(free).fill(0))
  },
  accessor(layout) {
    if (!(layout instanceof GroupLayout)) throw wrongType('layout', 'a struct or union', layout)
    return accessorOf(layout)
  },
})

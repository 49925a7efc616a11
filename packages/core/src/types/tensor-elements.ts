import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { dtypeInfo } from './dtype.ts'
import { elementCodec, type ElementCodec } from './element.ts'
import type { Element, NestedArray } from './element-types.ts'
import { rowMajorStrides, type TensorType } from './tensor-type.ts'

/** Reads and writes the elements of one tensor by their offset, in elements. */
export interface Elements {
  readonly read: (offset: number) => Element
  /** @throws {ArgumentError | ArgumentRangeError} if the value cannot be an element of the type. */
  readonly write: (offset: number, value: unknown) => void
}

/** The elements in memory that is attached. `base` is the position of the first one in the view, in bytes. */
export function elementsIn({ dtype, packing }: TensorType, view: DataView, base: number): Elements {
  const codec = elementCodec(dtype)
  if (packing === 'packed') return packedElements(view, base, dtypeInfo(dtype).bits, codec)
  const { byteSize } = codec
  return {
    read: (offset) => codec.read(view, base + offset * byteSize),
    write: (offset, value) => codec.write(view, base + offset * byteSize, value),
  }
}

/**
 * Writes the elements of a row-major type from an array, each of which is read once, when the ones before are written.
 *
 * @param pathOf names the value with an index in error messages.
 * @throws {ArgumentError | ArgumentRangeError} if a value cannot be an element of the type.
 */
export function writeElements(
  type: TensorType,
  view: DataView,
  base: number,
  values: readonly unknown[],
  pathOf: (index: number) => string,
): void {
  const { dtype, packing, elementCount } = type
  const codec = elementCodec(dtype)
  const { byteSize } = codec
  const packed = packing === 'packed' ? elementsIn(type, view, base) : undefined
  let i = 0
  try {
    if (packed === undefined)
      for (let at = base; i < elementCount; i++, at += byteSize) codec.write(view, at, values[i])
    else for (; i < elementCount; i++) packed.write(i, values[i])
  } catch (error) {
    throw withPath(error, `${pathOf(i)} of ${type}`)
  }
}

/** The error of a value that cannot be an element, with its place. Getters of the user can throw other errors. */
function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof ArgumentError) || error.details['expected'] === undefined) return error
  const { expected, received } = error.details
  const Kind = error instanceof ArgumentRangeError ? ArgumentRangeError : ArgumentError
  return new Kind(`${path} must be ${String(expected)}, got ${String(received)}`, {
    details: { ...error.details, path },
  })
}

const oneByte = new DataView(new ArrayBuffer(1))

/** Packed elements fill each byte from its low bits. */
function packedElements(view: DataView, base: number, bits: number, codec: ElementCodec): Elements {
  const mask = (1 << bits) - 1
  return {
    read(offset) {
      const bit = offset * bits
      oneByte.setUint8(0, (view.getUint8(base + Math.floor(bit / 8)) >> (bit & 7)) & mask)
      return codec.read(oneByte, 0)
    },
    write(offset, value) {
      const bit = offset * bits
      const at = base + Math.floor(bit / 8)
      codec.write(oneByte, 0, value)
      const shift = bit & 7
      // Memory of a caller's allocator may not be zeroed.
      view.setUint8(at, (view.getUint8(at) & ~(mask << shift)) | (oneByte.getUint8(0) << shift))
    },
  }
}

/** The axes of a tensor, with a text for error messages. */
export type Axes = Pick<TensorType, 'shape' | 'strides' | 'elementCount' | 'toString'>

/** The steps between neighbours along each axis, in elements. */
export function stepsOf({ shape, strides }: Axes): readonly number[] {
  return strides ?? rowMajorStrides(shape)
}

/** Calls `visit` with the offset of each element, in row-major order of their indices. */
export function forEachOffset(type: TensorType, visit: (offset: number) => void): void {
  const { shape, strides, elementCount } = type
  if (strides === undefined) {
    for (let offset = 0; offset < elementCount; offset++) visit(offset)
    return
  }
  const walk = (axis: number, start: number): void => {
    if (axis === shape.length) return visit(start)
    const [size, stride] = [shape[axis]!, strides[axis]!]
    for (let i = 0, offset = start; i < size; i++, offset += stride) walk(axis + 1, offset)
  }
  walk(0, 0)
}

/** The most axes of nested arrays, as in NumPy. */
export const MOST_NESTED = 64

/** The most arrays for a tensor without elements, whose axes before the one of size 0 can have any size. */
const MOST_EMPTY = 2 ** 24

function checkNestable(axes: Axes): void {
  const { shape, elementCount } = axes
  if (shape.length > MOST_NESTED) {
    throw new ArgumentRangeError(
      `nested arrays have at most ${MOST_NESTED} levels, got a tensor with ${shape.length} axes`,
      { hint: 'Read the elements in a row with toArray().' },
    )
  }
  if (elementCount > 0) return
  let [arrays, inAxis] = [1, 1]
  for (const size of shape.slice(0, shape.indexOf(0))) arrays += inAxis *= size
  if (arrays <= MOST_EMPTY) return
  throw new ArgumentRangeError(
    `a tensor without elements has at most ${MOST_EMPTY} nested arrays, got ${arrays} of ${String(axes)}`,
  )
}

/**
 * Values as nested arrays, one level for each axis.
 *
 * @param read returns the value of the element at an offset, in elements.
 * @throws {ArgumentRangeError} if there are too many axes for nested arrays, or too many arrays for no elements.
 */
export function nest<Value>(axes: Axes, read: (offset: number) => Value): NestedArray<Value> {
  checkNestable(axes)
  const { shape } = axes
  const steps = stepsOf(axes)
  const along = (axis: number, offset: number): NestedArray<Value> => {
    if (axis === shape.length) return read(offset)
    const [size, step] = [shape[axis]!, steps[axis]!]
    const items: NestedArray<Value>[] = []
    for (let i = 0, at = offset; i < size; i++, at += step) items.push(along(axis + 1, at))
    return items
  }
  return along(0, 0)
}

/** The distance of an element from the first one in bytes. Packed elements start at whole bytes. */
export function byteOffset({ dtype, packing }: TensorType, offset: number): number {
  return packing === 'packed' ? (offset * dtypeInfo(dtype).bits) / 8 : offset * elementCodec(dtype).byteSize
}

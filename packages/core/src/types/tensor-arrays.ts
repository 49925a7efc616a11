import { wrongType } from '../errors/check-arguments.ts'
import { AlignmentError, ArgumentError } from '../errors/kinds.ts'
import type { Segment } from '../memory/segment.ts'
import { encodeFloats } from './convert-elements.ts'
import { typedArrayClass, type DType, type TypedArrayName } from './dtype.ts'
import type { ArrayOf } from './element-types.ts'
import { elementCodec } from './element.ts'
import { isMiniFloat } from './minifloat.ts'
import type { TensorType } from './tensor-type.ts'
import { layoutText } from './tensor-views.ts'

/** A `Float16Array`, described here because not all engines and declarations have it. */
export interface Float16Values extends ArrayBufferView {
  readonly length: number
  readonly [Symbol.toStringTag]: 'Float16Array'
}

/** The class `Float16Array`, where the runtime has it. */
export type Float16ArrayClass<Values extends Float16Values> = new (
  buffer: ArrayBuffer,
  byteOffset?: number,
  length?: number,
) => Values

/** A TypedArray with elements of a type: for float16 also a `Float16Array`, and for small floats also a Float32Array with numbers. */
export type ValuesOf<D extends DType> =
  | ArrayOf<D>
  | (D extends 'float16' ? Float16Values : never)
  | (D extends `float4_${string}` | `float8_${string}` | 'float16' | 'bfloat16' ? Float32Array : never)

/** The class of a view, and its place in its buffer. */
export interface ViewFacts {
  readonly name: TypedArrayName | 'Float16Array' | 'Uint8ClampedArray' | 'DataView'
  readonly buffer: ArrayBufferLike
  readonly byteOffset: number
  readonly byteLength: number
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array

/** The getters of one kind of view. */
type Getters = {
  readonly [Name in 'buffer' | 'byteOffset' | 'byteLength']: (this: ArrayBufferView) => ArrayBufferView[Name]
}

const getterOf = <Value>(of: object, name: PropertyKey): ((this: ArrayBufferView) => Value) =>
  Object.getOwnPropertyDescriptor(of, name)!.get as (this: ArrayBufferView) => Value

const gettersOf = (of: ArrayBufferView): Getters => ({
  buffer: getterOf(of, 'buffer'),
  byteOffset: getterOf(of, 'byteOffset'),
  byteLength: getterOf(of, 'byteLength'),
})

const tagOf = getterOf<ViewFacts['name'] | undefined>(typedArray, Symbol.toStringTag)
const [arrayGetters, dataViewGetters] = [gettersOf(typedArray), gettersOf(DataView.prototype)]

/** Reads a view by the engine's own getters, because an object of a user can have properties of the same names. */
export function viewFacts(view: ArrayBufferView): ViewFacts {
  const name = tagOf.call(view)
  const { buffer, byteOffset, byteLength } = name === undefined ? dataViewGetters : arrayGetters
  return {
    name: name ?? 'DataView',
    // Reading `buffer` moves a small typed array out of the heap for good, so its address is stable from now on.
    buffer: buffer.call(view),
    byteOffset: byteOffset.call(view),
    byteLength: byteLength.call(view),
  }
}

/**
 * Returns an array over the elements of a tensor.
 *
 * @param array the class of the result if it is not that of the element type: `Float16Array`.
 * @throws {ArgumentError} if the elements are not adjacent or not whole bytes, or the class is another one.
 */
export function viewOver(type: TensorType, segment: Segment, array: unknown): ArrayBufferView {
  if (type.strides !== undefined || type.packing === 'packed') {
    throw new ArgumentError(
      `a tensor must have adjacent elements of whole bytes to be viewed, got ${layoutText(type)}`,
      { hint: 'View a row-major copy, x.contiguous().view(), or read the elements with toArray().' },
    )
  }
  const Class = array === undefined ? typedArrayClass(type.dtype) : checkClass(array, type)
  const view = segment.view()
  if (view.byteOffset % Class.BYTES_PER_ELEMENT !== 0) {
    throw new AlignmentError(
      `a ${Class.name} must start at a multiple of ${Class.BYTES_PER_ELEMENT} bytes, got ${view.byteOffset}`,
      { hint: 'Allocate the memory with the alignment of its elements, or read it with toArray().' },
    )
  }
  return new Class(view.buffer as ArrayBuffer, view.byteOffset, type.byteSize / Class.BYTES_PER_ELEMENT)
}

const { Float16Array } = globalThis as unknown as { Float16Array?: ReturnType<typeof typedArrayClass> }

function checkClass(array: unknown, type: TensorType): ReturnType<typeof typedArrayClass> {
  if (array === Float16Array && Float16Array !== undefined && type.dtype === 'float16') return Float16Array
  throw wrongType(
    'array',
    type.dtype === 'float16'
      ? 'Float16Array, or nothing'
      : `nothing, because only float16 tensors have two kinds of view`,
    array,
    'Convert the elements: x.to(dtype).',
  )
}

/**
 * The bytes of an array with the elements of a tensor in row-major order.
 *
 * @throws {ArgumentError} if the array is not of the element type's kind, or has another length.
 */
export function bytesOfArray(source: ArrayBufferView, type: TensorType): Uint8Array {
  const { dtype, packing, elementCount } = type
  const expected = typedArrayClass(dtype)
  const size = packing === 'packed' ? type.byteSize : elementCount * elementCodec(dtype).byteSize
  const { name, buffer, byteOffset, byteLength } = viewFacts(source)
  if (name === 'Float32Array' && isMiniFloat(dtype) && byteLength === 4 * elementCount) {
    return encodeFloats(type, new Float32Array(buffer, byteOffset, elementCount))
  }
  const isKind = name === expected.name || (dtype === 'float16' && name === 'Float16Array')
  if (isKind && byteLength === size) return new Uint8Array(buffer, byteOffset, byteLength)
  throw wrongType(`the values of ${type}`, `a ${expected.name}(${size / expected.BYTES_PER_ELEMENT})`, source)
}

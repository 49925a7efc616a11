import { wrongType } from '../errors/check-arguments.ts'
import { typedArrayClass, type DType, type TypedArrayName } from './dtype.ts'
import type { ArrayOf } from './element-types.ts'
import { elementCodec } from './element.ts'
import type { TensorType } from './tensor-type.ts'

/** A `Float16Array`, described here because not all engines and declarations have it. */
export interface Float16Values extends ArrayBufferView {
  readonly length: number
  readonly [Symbol.toStringTag]: 'Float16Array'
}

/** A TypedArray with elements of a type: for float16 also a `Float16Array`. */
export type ValuesOf<D extends DType> = ArrayOf<D> | (D extends 'float16' ? Float16Values : never)

/** The class of a view, and its place in its buffer. */
interface ViewFacts {
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
 * The bytes of an array with the elements of a tensor in row-major order.
 *
 * @throws {ArgumentError} if the array is not of the element type's kind, or has another length.
 */
export function bytesOfArray(source: ArrayBufferView, type: TensorType): Uint8Array {
  const { dtype, packing, elementCount } = type
  const expected = typedArrayClass(dtype)
  const size = packing === 'packed' ? type.byteSize : elementCount * elementCodec(dtype).byteSize
  const { name, buffer, byteOffset, byteLength } = viewFacts(source)
  const isKind = name === expected.name || (dtype === 'float16' && name === 'Float16Array')
  if (isKind && byteLength === size) return new Uint8Array(buffer, byteOffset, byteLength)
  throw wrongType(`the values of ${type}`, `a ${expected.name}(${size / expected.BYTES_PER_ELEMENT})`, source)
}

import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { adopt, isGenuine } from '../interchange/adopt.ts'
import type { ForeignTensor } from '../interchange/find.ts'
import { blockOf } from '../interchange/foreign-block.ts'
import type { OfferedStrings, OfferedTensor } from '../interchange/protocol.ts'
import { gcAllocator } from '../memory/allocators.ts'
import { Segment } from '../memory/segment.ts'
import type { StringTensorLike } from '../strings/string-tensor-like.ts'
import { dtypeOfArray, type ArrayDTypes } from './array-dtypes.ts'
import { cpu } from './device.ts'
import { typedArrayClass, type DType, type TypedArray } from './dtype.ts'
import { checkFit } from './make-tensor.ts'
import { viewFacts, type Float16Values } from './tensor-arrays.ts'
import { typeWith } from './tensor-type.ts'
import { Tensor } from './tensor.ts'

/** The options of {@link from}. */
export interface FromOptions {
  /** The steps between neighbours along each axis of a TypedArray, in elements, with which the tensor may be over a part of it. */
  readonly strides?: readonly number[] | undefined
  /** Whether the tensor has a row-major copy of the elements. The default is false: what cannot be used in place is refused. */
  readonly copy?: boolean | undefined
  /** The element in the place of each null of a column, which is copied then; for strings the empty string. */
  readonly nulls?: number | bigint | boolean | string | undefined
  /**
   * Whether an address that an object offers is believed. The memory cannot be checked: another address may end the process. The
   * default is false.
   */
  readonly trustAddress?: boolean | undefined
}

const OPTIONS = ['strides', 'copy', 'nulls', 'trustAddress'] as const

const COPY = 'Copy the values with tensor(dtype, shape, array).'

/**
 * Makes a tensor over the memory of a TypedArray, or of an object of another library, without copying. The tensor keeps the memory alive,
 * and both see what the other writes. Every call of a kernel checks that the buffer was not transferred away.
 *
 * An object offers its memory by {@link tensorSymbol}, or has one of these structures: a tensor of onnxruntime or TensorFlow.js, a
 * `Vector` or `Data` of Apache Arrow, an `ndarray` of scijs, a series of nodejs-polars, the pixels of an image, or `{ data, dims }`.
 * Columns of strings become a string tensor, if `@tenon/tstring` is loaded.
 *
 * @param array a TypedArray with elements of the tensor's type. A Float16Array gives a float16 tensor.
 * @param shape the size along each axis. The default is one axis with the length of the array.
 * @param options see {@link FromOptions}. `strides` come with a shape.
 * @throws {ArgumentError} if the array is a DataView, its buffer is detached, resizable or growable, the shape without strides has
 * another number of elements, or the object cannot be used without a copy: it has negative strides, chunks, nulls, or a bit for each
 * boolean. @throws {BoundsError} if an element with strides lies outside of the memory. @throws {AlignmentError} if the memory is not
 * aligned for the elements. @throws {UnsupportedError} if the memory belongs to another device.
 * @example
 * const values = new Float32Array([1, 2, 3, 4])
 * const x = from(values, [2, 2])
 * values[3] = 5
 * x.toArray() // [1, 2, 3, 5]
 * from(values, [2, 2], { strides: [1, 2] }).toArray() // [1, 3, 2, 5]
 * from({ data: values, dims: [2, 2] }).toNested() // [[1, 2], [3, 5]]
 */
export function from<Values extends TypedArray | Uint8ClampedArray | Float16Values>(
  array: Values,
  shape?: readonly number[] | FromOptions,
  options?: FromOptions,
): Tensor<ArrayDTypes[Values[typeof Symbol.toStringTag]]>
export function from<D extends DType>(tensor: OfferedTensor<D>, options?: FromOptions): Tensor<D>
export function from<Result extends Tensor | StringTensorLike = Tensor>(
  tensor: ForeignTensor | OfferedStrings,
  options?: FromOptions,
): Result
export function from(source: unknown, second?: unknown, third?: FromOptions): Tensor | StringTensorLike {
  const hasShape = Array.isArray(second)
  // Reading the options can run code of the user, which can transfer the buffer. The buffer is looked at after that.
  const options = hasShape || second === undefined ? third : (second as FromOptions)
  const { strides, copy, nulls, trustAddress } = checkOptions(options, OPTIONS)
  if (hasShape && ArrayBuffer.isView(source)) {
    const tensor = overArray(source, second as number[], strides)
    return copy === true ? tensor.copy() : tensor
  }
  if (strides !== undefined) {
    throw new ArgumentError('strides must come with a shape, got no shape', {
      hint: 'Call from(array, shape, { strides }).',
    })
  }
  if (hasShape) throw wrongType('array', 'a TypedArray, because it comes with a shape', source)
  if (isGenuine(source)) return copy === true ? source.copy() : source
  const tensor =
    options === undefined ? adopt(source, 'source') : adopt(source, 'source', { copy, nulls, trustAddress })
  if (tensor !== undefined) return tensor
  throw wrongType('source', 'a TypedArray or a tensor of a known library', source, COPY)
}

function overArray(array: ArrayBufferView, shape: readonly number[], strides: readonly number[] | undefined): Tensor {
  const dtype = dtypeOfArray(viewFacts(array).name)
  if (dtype === undefined) throw wrongType('array', 'a TypedArray of an element type', array, COPY)
  // Reading the shape can run code of the user as well.
  const type = typeWith(dtype, shape, strides === undefined ? {} : { strides })
  const segment = segmentOver(array)
  if (strides === undefined && type.byteSize !== segment.byteSize) {
    const count = segment.byteSize / typedArrayClass(dtype).BYTES_PER_ELEMENT
    throw new ArgumentError(`shape must have the ${count} elements of the array, got [${type.shape.join(', ')}]`, {
      hint: 'Pass a part of the array with array.subarray(start, end).',
      details: { expected: count, received: type.elementCount },
    })
  }
  return new Tensor(checkFit(segment, type), type, cpu)
}

/** The memory of an array. It counts as exposed, because the user can transfer the buffer at any time. */
export function segmentOver(array: ArrayBufferView): Segment {
  const { buffer, byteOffset, byteLength } = viewFacts(array)
  const block = blockOf(buffer, 'array')
  // There is nothing to share, and an empty buffer has no address.
  return byteLength === 0 ? gcAllocator.allocate(0) : new Segment(block, byteOffset, byteLength, 0)
}

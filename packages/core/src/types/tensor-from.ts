import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { gcAllocator } from '../memory/allocators.ts'
import { isDetached, isResizable } from '../memory/array-buffer.ts'
import { Block, gateOfBuffer } from '../memory/block.ts'
import { globalGate } from '../memory/global-lifetime.ts'
import { Segment } from '../memory/segment.ts'
import { addressOf } from '../native/native-memory.ts'
import { checkFit } from './make-tensor.ts'
import { cpu } from './device.ts'
import { typedArrayClass, type DType, type TypedArray } from './dtype.ts'
import { viewFacts, type Float16Values } from './tensor-arrays.ts'
import { typeWith, type TensorTypeOptions } from './tensor-type.ts'
import { Tensor } from './tensor.ts'

/** The element types of the tensors over each kind of TypedArray. */
export interface ArrayDTypes {
  readonly Int8Array: 'int8'
  readonly Uint8Array: 'uint8'
  readonly Int16Array: 'int16'
  readonly Uint16Array: 'uint16'
  readonly Int32Array: 'int32'
  readonly Uint32Array: 'uint32'
  readonly BigInt64Array: 'int64'
  readonly BigUint64Array: 'uint64'
  readonly Float16Array: 'float16'
  readonly Float32Array: 'float32'
  readonly Float64Array: 'float64'
}

const dtypeOfArray: ArrayDTypes = {
  Int8Array: 'int8',
  Uint8Array: 'uint8',
  Int16Array: 'int16',
  Uint16Array: 'uint16',
  Int32Array: 'int32',
  Uint32Array: 'uint32',
  BigInt64Array: 'int64',
  BigUint64Array: 'uint64',
  Float16Array: 'float16',
  Float32Array: 'float32',
  Float64Array: 'float64',
}

const COPY = 'Copy the values with tensor(dtype, shape, array).'

/**
 * Makes a tensor over the memory of a TypedArray without copying. The tensor keeps the memory alive, and both see what the other
 * writes. Every call of a kernel checks that the buffer was not transferred away.
 *
 * @param array a TypedArray with elements of the tensor's type. A Float16Array gives a float16 tensor.
 * @param shape the size along each axis. The default is one axis with the length of the array.
 * @param options `strides` in elements, with which the tensor may be over a part of the array.
 * @throws {ArgumentError} if the array is a DataView or a Uint8ClampedArray, its buffer is detached, resizable or growable, the
 * shape without strides has another number of elements, or strides come without a shape. @throws {BoundsError} if an element
 * with strides lies behind the array. @throws {AlignmentError} if external memory is not aligned for the elements.
 * @example
 * const values = new Float32Array([1, 2, 3, 4])
 * const x = from(values, [2, 2])
 * values[3] = 5
 * x.toArray() // [1, 2, 3, 5]
 * from(values, [2, 2], { strides: [1, 2] }).toArray() // [1, 3, 2, 5]
 */
export function from<Values extends TypedArray | Float16Values>(
  array: Values,
  shape?: readonly number[],
  options?: Pick<TensorTypeOptions, 'strides'>,
): Tensor<ArrayDTypes[Values[typeof Symbol.toStringTag]]> {
  if (!ArrayBuffer.isView(array))
    throw wrongType('array', 'a TypedArray', array, 'Copy values with tensor(dtype, shape, values).')
  const { name } = viewFacts(array)
  if (!(name in dtypeOfArray)) throw wrongType('array', 'a TypedArray of an element type', array, COPY)
  const dtype = dtypeOfArray[name as keyof ArrayDTypes] as DType
  // Reading the options and the shape can run code of the user, which can transfer the buffer. The buffer is looked at after that.
  const { strides } = checkOptions(options, ['strides'])
  if (strides !== undefined && shape === undefined) {
    throw new ArgumentError('strides must come with a shape, got no shape', {
      hint: 'Call from(array, shape, { strides }).',
    })
  }
  const wanted = shape === undefined ? undefined : typeWith(dtype, shape, strides === undefined ? {} : { strides })
  const segment = segmentOver(array)
  const count = segment.byteSize / typedArrayClass(dtype).BYTES_PER_ELEMENT
  const type = wanted ?? typeWith(dtype, [count], {})
  if (strides === undefined && type.byteSize !== segment.byteSize) {
    throw new ArgumentError(`shape must have the ${count} elements of the array, got [${type.shape.join(', ')}]`, {
      hint: 'Pass a part of the array with array.subarray(start, end).',
      details: { expected: count, received: type.elementCount },
    })
  }
  return new Tensor(checkFit(segment, type), type, cpu) as Tensor<ArrayDTypes[Values[typeof Symbol.toStringTag]]>
}

/** The memory of an array. It counts as exposed, because the user can transfer the buffer at any time. */
export function segmentOver(array: ArrayBufferView): Segment {
  const { buffer, byteOffset, byteLength } = viewFacts(array)
  if (isDetached(buffer)) {
    throw new ArgumentError('array must be attached, got one of a detached buffer', {
      hint: 'Use the buffer that transfer() returned, or the thread that received it.',
    })
  }
  if (isResizable(buffer)) {
    throw new ArgumentError('array must have a buffer of a fixed size, got a resizable one', { hint: COPY })
  }
  // There is nothing to share, and an empty buffer has no address.
  if (byteLength === 0) return gcAllocator.allocate(0)
  const block = new Block(
    gateOfBuffer(buffer) ?? globalGate,
    new DataView(buffer),
    Buffer.from(buffer),
    addressOf(buffer),
  )
  block.exposed = true
  return new Segment(block, byteOffset, byteLength, 0)
}

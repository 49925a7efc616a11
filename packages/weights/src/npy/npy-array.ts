import {
  AlignmentError,
  ArgumentError,
  dtypeInfo,
  tensor,
  type Tensor,
  type TensorLike,
  type DType,
  type NativeAllocator,
  type Segment,
} from '@tenon/core'
import { asTensor, isDetached, wrongType } from '@tenon/core/internal'
import { decodeNpyHeader, encodeNpyHeader, type NpyHeader } from './npy-header.ts'
import { NpyFormatError } from './npy-format-error.ts'

/** The most axes of an array, as in NumPy 2. */
const MOST_AXES = 64

/**
 * Reads an array from the bytes of a `.npy` file.
 *
 * @param bytes the whole file, which is copied
 * @param allocator allocates the tensor's memory. The memory of the default is freed by the garbage collector
 * @returns a little-endian tensor. A column-major (Fortran order) file becomes a tensor with strides, so that indices mean the same
 * as in NumPy; `contiguous()` makes it row-major.
 * @throws {NpyFormatError} if it is not a `.npy` file, is truncated or too long, or has an unsupported element type
 * @throws {AllocationError} if memory is exhausted
 * @throws {ArgumentError} if `bytes` is not a Uint8Array, or the allocator is not one
 */
export function decodeNpy(bytes: Uint8Array, allocator?: NativeAllocator): Tensor {
  if (!((bytes as unknown) instanceof Uint8Array)) {
    throw wrongType('bytes', 'a Uint8Array', bytes, 'Read a file with readNpy(path).')
  }
  if (isDetached(bytes.buffer)) {
    throw new ArgumentError('bytes must be attached, got an array whose buffer was transferred')
  }
  const header = decodeNpyHeader(bytes)
  return readElements(header, bytes.length, allocator, (target) => {
    target.set(bytes.subarray(header.dataOffset))
  })
}

/**
 * Encodes an array as the bytes of a `.npy` file, as NumPy does: little-endian; in Fortran order if the tensor is fully
 * column-major, and row-major otherwise.
 *
 * @throws {ArgumentError} if it is not a tensor, NumPy lacks the element type or has fewer axes, or the tensor is not in CPU memory
 * @throws {ScopeClosedError} if its memory is closed
 */
export function encodeNpy(source: TensorLike): Uint8Array {
  return Buffer.concat(encodeParts(source))
}

/**
 * The header and the elements: column-major if the tensor is fully column-major, and row-major otherwise. The elements are the
 * tensor's own memory if it is row-major or column-major.
 */
export function encodeParts(given: TensorLike): [header: Uint8Array, elements: Uint8Array] {
  const source = asTensor(given, 'tensor', 'a Tensor', "Make one with tensor('f32', [2], [1, 2]).")
  const { dtype, shape } = source
  if (shape.length > MOST_AXES)
    throw new ArgumentError(`a .npy file must have at most ${MOST_AXES} axes, got a tensor with ${shape.length}`)
  const transpose = source.isContiguous ? undefined : source.transpose()
  // Elements of another layout are copied.
  if (transpose?.isContiguous !== true) return [encodeNpyHeader(dtype, shape), bytesOver(source.contiguous())]
  return [encodeNpyHeader(dtype, shape, { fortranOrder: true }), bytesOver(transpose)]
}

/** `fileSize` is the size of header and elements together, in bytes. */
export function readElements(
  header: NpyHeader,
  fileSize: number,
  allocator: NativeAllocator | undefined,
  read: (target: Uint8Array) => void,
): Tensor {
  checkEnd(header, fileSize)
  // Column-major elements are those of the transpose in row-major order. No elements need no order, and no strides.
  const isTransposed = isTransposedIn(header)
  const shape = isTransposed ? header.shape.toReversed() : header.shape
  const made = tensor(header.dtype, shape, undefined, allocator === undefined ? {} : { allocator })
  const target = bytesOver(made)
  read(target)
  if (header.bigEndian) swapBytes(target, made.view().BYTES_PER_ELEMENT)
  return isTransposed ? made.transpose() : made
}

/**
 * Makes the tensor over the elements of an array in memory that has exactly these bytes. Returns undefined if they are big-endian, or not aligned.
 */
export function tensorOver(header: NpyHeader, elements: Segment): Tensor | undefined {
  const { dtype, shape, bigEndian } = header
  if (bigEndian && bytesOf(dtype) > 1) return undefined
  const isTransposed = isTransposedIn(header)
  try {
    const made = tensor(dtype, isTransposed ? shape.toReversed() : shape, elements)
    return isTransposed ? made.transpose() : made
  } catch (error) {
    if (error instanceof AlignmentError) return undefined
    throw error
  }
}

const isTransposedIn = ({ fortranOrder, shape }: NpyHeader): boolean => fortranOrder && !shape.includes(0)

/** Checks that an array ends with its file. @param fileSize that of header and elements together, in bytes */
export function checkEnd(header: NpyHeader, fileSize: number): void {
  if (header.shape.length > MOST_AXES) {
    throw new NpyFormatError(
      `the shape should have at most ${MOST_AXES} axes, as in NumPy, but has ${header.shape.length}`,
    )
  }
  // The product of other sizes could be infinite, and 0 times that is NaN.
  const byteSize = header.shape.includes(0)
    ? 0
    : header.shape.reduce((product, size) => product * size, bytesOf(header.dtype))
  const expected = header.dataOffset + byteSize
  if (fileSize !== expected) {
    throw new NpyFormatError(
      `${header.dtype} elements of shape (${header.shape.join(', ')}) should end the file at byte ${expected}, ` +
        `but it ends at ${fileSize}`,
      {
        hint:
          fileSize < expected
            ? 'the file is cut off: save or copy it again.'
            : 'does it hold several arrays, saved one after another? Save each in a file of its own.',
        details: { expected, fileSize },
      },
    )
  }
}

function bytesOver(source: Tensor): Uint8Array {
  const { buffer, byteOffset, byteLength } = source.view()
  return new Uint8Array(buffer, byteOffset, byteLength)
}

const bytesOf = (dtype: DType): number => dtypeInfo(dtype).bits / 8

function swapBytes(bytes: Uint8Array, wordSize: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (wordSize === 2) buffer.swap16()
  else if (wordSize === 4) buffer.swap32()
  else if (wordSize === 8) buffer.swap64()
}

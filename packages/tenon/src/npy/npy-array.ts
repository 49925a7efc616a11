import { ArgumentError, dtypeInfo, tensor, Tensor, type DType, type NativeAllocator } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { copyStrided } from './copy-strided.ts'
import { decodeNpyHeader, encodeNpyHeader, type NpyHeader } from './npy-header.ts'
import { NpyFormatError } from './npy-format-error.ts'

/**
 * Reads an array from the bytes of a `.npy` file.
 *
 * @param bytes the whole file; copied
 * @param allocator where the tensor's memory comes from; the default is freed by the garbage collector
 * @returns a row-major little-endian tensor. Column-major (Fortran order) files are transposed in memory, big-endian
 * ones swapped: indices mean the same as in NumPy.
 * @throws {NpyFormatError} if it is no `.npy` file, is cut off or too long, or has elements without a type here
 * @throws {AllocationError} if there is no memory
 * @throws {ArgumentError} if there are no bytes, or the allocator is none
 */
export function decodeNpy(bytes: Uint8Array, allocator?: NativeAllocator): Tensor {
  if (!((bytes as unknown) instanceof Uint8Array)) {
    throw new ArgumentError(`bytes must be a Uint8Array, got ${describe(bytes)}`, {
      hint: 'readNpy(path) reads a file.',
    })
  }
  const header = decodeNpyHeader(bytes)
  return readElements(header, bytes.length, allocator, (target) => {
    target.set(bytes.subarray(header.dataOffset))
  })
}

/**
 * The bytes of a `.npy` file with this array, as NumPy writes it: row-major, little-endian.
 *
 * @throws {ArgumentError} if it is no tensor, NumPy has no such element type, or the tensor is not in the CPU's memory
 * @throws {ScopeClosedError} if its memory was released
 */
export function encodeNpy(source: Tensor): Uint8Array {
  return Buffer.concat(encodeParts(source))
}

/** The header, and the elements in row-major order: the tensor's own memory where it has them so. */
export function encodeParts(source: Tensor): [header: Uint8Array, elements: Uint8Array] {
  if (!((source as unknown) instanceof Tensor)) {
    throw new ArgumentError(`a tensor is needed to write, got ${describe(source)}`, {
      hint: "make one of values: tensor('f32', [2], [1, 2]).",
    })
  }
  return [encodeNpyHeader(source.dtype, source.shape), rowMajorBytes(source)]
}

/**
 * Makes the tensor that a header describes and has `read` fill it with the elements as the file has them.
 *
 * @param fileSize of header and elements together, in bytes
 */
export function readElements(
  header: NpyHeader,
  fileSize: number,
  allocator: NativeAllocator | undefined,
  read: (target: Uint8Array) => void,
): Tensor {
  const elementSize = bytesOf(header.dtype)
  const byteSize = header.shape.reduce((product, size) => product * size, elementSize)
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
  const made = tensor(header.dtype, header.shape, undefined, allocator === undefined ? {} : { allocator })
  const target = bytesOver(made)
  if (header.fortranOrder) {
    const columns = new Uint8Array(byteSize)
    read(columns)
    copyStrided(columns, target, elementSize, header.shape, columnMajorStrides(header.shape))
  } else {
    read(target)
  }
  if (header.bigEndian) swapBytes(target, made.view().BYTES_PER_ELEMENT)
  return made
}

function rowMajorBytes(source: Tensor): Uint8Array {
  const bytes = bytesOver(source)
  if (source.strides === undefined) return bytes
  const elementSize = bytesOf(source.dtype)
  const rows = new Uint8Array(source.type.elementCount * elementSize)
  copyStrided(bytes, rows, elementSize, source.shape, source.strides)
  return rows
}

/** The memory of a tensor on the CPU, as bytes. */
function bytesOver(source: Tensor): Uint8Array {
  const { buffer, byteOffset, byteLength } = source.view()
  return new Uint8Array(buffer, byteOffset, byteLength)
}

const bytesOf = (dtype: DType): number => dtypeInfo(dtype).bits / 8

function columnMajorStrides(shape: readonly number[]): number[] {
  let stride = 1
  return shape.map((size) => {
    const own = stride
    stride *= size
    return own
  })
}

function swapBytes(bytes: Uint8Array, wordSize: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (wordSize === 2) buffer.swap16()
  else if (wordSize === 4) buffer.swap32()
  else if (wordSize === 8) buffer.swap64()
}

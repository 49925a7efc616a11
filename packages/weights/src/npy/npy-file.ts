import { closeSync, constants, fstatSync, openSync, readSync, writeFileSync } from 'node:fs'
import { ArgumentError, Tensor, type NativeAllocator, type TensorLike } from '@tenon/core'
import { filePath } from '@tenon/core/internal'
import { encodeParts, readElements } from './npy-array.ts'
import { NpyFormatError } from './npy-format-error.ts'
import { MAX_PREFIX_BYTES, decodeNpyHeader, npyDataOffset } from './npy-header.ts'

/** The most bytes that one system call reads. */
const MAX_READ_BYTES = 1 << 30

/**
 * Reads a `.npy` file (versions 1.0, 2.0 and 3.0) into a tensor. The elements are read directly into its memory.
 *
 * @param path of the file, or its `file:` URL
 * @param allocator allocates the tensor's memory, such as `NativeScope.ofConfined()`. The memory of the default is freed by
 * the garbage collector
 * @returns a little-endian tensor. A column-major (Fortran order) file becomes a tensor with strides, so that indices mean the same
 * as in NumPy; `contiguous()` makes it row-major.
 * @throws {NpyFormatError} if it is not a `.npy` file, is truncated or too long, or has an unsupported element type
 * @throws {AllocationError} if memory is exhausted
 * @throws {ArgumentError} if the path is neither a path nor a `file:` URL, or the allocator is not one
 * @throws Node's own error (ENOENT, EACCES, EISDIR, ...), with its `code` and `path`, if the system cannot read it
 * @example
 * const x = readNpy('x.npy')
 */
export function readNpy(path: string | URL, allocator?: NativeAllocator): Tensor {
  const name = filePath(path)
  // Opening a pipe would wait for its writer.
  const file = openSync(name, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const { size } = fstatSync(file)
    const header = decodeNpyHeader(readBytes(file, Math.min(size, dataOffsetOf(file, size))))
    return readElements(header, size, allocator, (target) => readInto(file, target, header.dataOffset))
  } catch (error) {
    if (!(error instanceof NpyFormatError)) throw withPath(error, name)
    throw new NpyFormatError(`cannot read ${name}: ${error.sentence}`, {
      hint: error.hint,
      details: { ...error.details, path: name },
    })
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a tensor as a `.npy` file, byte for byte as NumPy does: little-endian; in Fortran order if the tensor is fully
 * column-major, and row-major otherwise.
 *
 * @param path of the file, or its `file:` URL; an existing one is replaced
 * @throws {ArgumentError} if the path is neither, the source is not a tensor, NumPy lacks the element type, or the
 * tensor is not in CPU memory. The file is not touched then.
 * @throws {ScopeClosedError} if its memory is closed
 * @throws Node's own error (EACCES, ENOSPC, ...), with its `code` and `path`, if the system cannot write it
 * @example
 * writeNpy('y.npy', tensor('float32', [2, 2], [1, 2, 3, 4]))
 */
export function writeNpy(path: string | URL, source: TensorLike): void {
  if ((path as unknown) instanceof Tensor) {
    throw new ArgumentError('path must be a path or a file: URL, got a tensor', {
      hint: 'Pass the path first: writeNpy(path, tensor).',
    })
  }
  const name = filePath(path)
  const parts = encodeParts(source)
  const file = openSync(name, 'w')
  try {
    for (const part of parts) writeFileSync(file, part)
  } catch (error) {
    throw withPath(error, name)
  } finally {
    closeSync(file)
  }
}

/** Adds the path to an error of the system, which has it only if the file could not be opened. */
function withPath(error: unknown, path: string): unknown {
  return error instanceof Error && 'syscall' in error && !('path' in error) ? Object.assign(error, { path }) : error
}

function dataOffsetOf(file: number, size: number): number {
  return npyDataOffset(readBytes(file, Math.min(size, MAX_PREFIX_BYTES)))
}

function readBytes(file: number, byteSize: number): Uint8Array {
  const bytes = new Uint8Array(byteSize)
  readInto(file, bytes, 0)
  return bytes
}

function readInto(file: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length;) {
    const count = readSync(file, target, done, Math.min(target.length - done, MAX_READ_BYTES), position + done)
    if (count === 0) throw new NpyFormatError('the file was truncated while it was read')
    done += count
  }
}

import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs'
import type { NativeAllocator, Tensor } from '@tenon/core'
import { encodeParts, readElements } from './npy-array.ts'
import { NpyFormatError } from './npy-format-error.ts'
import { MAX_PREFIX_BYTES, decodeNpyHeader, npyDataOffset } from './npy-header.ts'

/** What one read of the system may take at most. */
const MAX_READ_BYTES = 1 << 30

/**
 * Reads a `.npy` file (versions 1.0, 2.0 and 3.0) into a tensor; the elements go straight into its memory.
 *
 * @param path of the file
 * @param allocator where the tensor's memory comes from; the default is freed by the garbage collector
 * @returns a row-major little-endian tensor. Column-major (Fortran order) files are transposed in memory, big-endian
 * ones swapped: indices mean the same as in NumPy.
 * @throws {NpyFormatError} if it is no `.npy` file, is cut off or too long, or has elements without a type here
 * @throws {AllocationError} if there is no memory
 * @throws the system's error (ENOENT, EACCES, ...) if it can't be opened
 * @example
 * const x = readNpy('x.npy')
 */
export function readNpy(path: string, allocator?: NativeAllocator): Tensor {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const header = decodeNpyHeader(readBytes(file, Math.min(size, dataOffsetOf(file, size))))
    return readElements(header, size, allocator, (target) => readInto(file, target, header.dataOffset))
  } catch (error) {
    if (!(error instanceof NpyFormatError)) throw error
    throw new NpyFormatError(`can't read ${path}: ${error.sentence}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      details: { ...error.details, path },
    })
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a tensor as a `.npy` file, byte for byte as NumPy does: row-major, little-endian.
 *
 * @param path of the file; an existing one is replaced
 * @throws {ArgumentError} if NumPy has no such element type, or the tensor is not in the CPU's memory
 * @throws {ScopeClosedError} if its memory was released
 * @throws the system's error (EACCES, ENOSPC, ...) if it can't be written
 * @example
 * writeNpy('y.npy', tensor('float32', [2, 2], [1, 2, 3, 4]))
 */
export function writeNpy(path: string, source: Tensor): void {
  const parts = encodeParts(source)
  const file = openSync(path, 'w')
  try {
    for (const part of parts) writeFileSync(file, part)
  } finally {
    closeSync(file)
  }
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
    if (count === 0) throw new NpyFormatError('the file became shorter while it was read')
    done += count
  }
}

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { BinaryFormatError } from './binary-format-error.ts'

/** A source of bytes that are read in parts: a file, or memory in tests. */
export interface ByteSource {
  readonly byteSize: number
  /** Reads exactly these bytes, which the caller has checked to be within `byteSize`. */
  read(offset: number, byteSize: number): Buffer
}

/**
 * Opens a file while `use` runs, which reads only the parts that it needs.
 *
 * @throws the system's error (ENOENT, EACCES, EISDIR, ...) if it cannot be opened
 * @throws {BinaryFormatError} if it is not a regular file, or shrinks while it is read
 */
export function withFileSource<T>(path: string, use: (source: ByteSource) => T): T {
  // Opening a pipe would wait for its writer.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) {
      throw new BinaryFormatError(
        `it is not a shared library, but ${stats.isDirectory() ? 'a directory' : 'a special file'}`,
      )
    }
    return use({ byteSize: stats.size, read: (offset, byteSize) => readExactly(file, offset, byteSize) })
  } finally {
    closeSync(file)
  }
}

function readExactly(file: number, offset: number, byteSize: number): Buffer {
  const bytes = Buffer.alloc(byteSize)
  for (let done = 0; done < byteSize;) {
    const count = readSync(file, bytes, done, byteSize - done, offset + done)
    if (count === 0) throw new BinaryFormatError('the file became shorter while it was read')
    done += count
  }
  return bytes
}

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { BinaryFormatError } from './binary-format-error.ts'

export interface ByteSource {
  readonly byteSize: number
  /** Reads `length` bytes at an offset. The caller has checked that the range is within the source, and does not write the bytes. */
  read(offset: number, length: number): Buffer
}

/** A file up to this size in bytes is read at once. */
const MAX_BYTES_AT_ONCE = 256 * 1024

/** A source that reads from an open file. Closing it twice has no effect. */
export interface FileSource extends ByteSource {
  close(): void
}

/**
 * Opens a file as a source, which the caller closes.
 *
 * @throws the system's error (ENOENT, EACCES, ...) if the file cannot be opened
 * @throws {BinaryFormatError} if the file is not a regular file. Reads throw it if the file is truncated meanwhile.
 */
export function openFileSource(path: string): FileSource {
  // Opening a pipe would wait for its writer.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  let open = true
  const close = (): void => {
    if (open) closeSync(file)
    open = false
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) {
      throw new BinaryFormatError(
        `the file is not a shared library, but ${stats.isDirectory() ? 'a directory' : 'a special file'}`,
      )
    }
    const byteSize = stats.size
    if (byteSize > MAX_BYTES_AT_ONCE) {
      return { byteSize, read: (offset, length) => readExactly(file, offset, length), close }
    }
    const bytes = readExactly(file, 0, byteSize)
    close()
    return { byteSize, read: (offset, length) => bytes.subarray(offset, offset + length), close }
  } catch (error) {
    close()
    throw error
  }
}

/** Opens a file, passes it to `use` as a source, and closes it when `use` has returned or thrown. The errors are those of {@link openFileSource}. */
export function withFileSource<T>(path: string, use: (source: ByteSource) => T): T {
  const source = openFileSource(path)
  try {
    return use(source)
  } finally {
    source.close()
  }
}

/** The size of the blocks that {@link cached} keeps, and their number. */
const BLOCK_BYTES = 65_536
const KEPT_BLOCKS = 64

/** A source that keeps the blocks that were read last, for readers that come back to the same places. Larger ranges are read at once. */
export function cached(source: ByteSource): ByteSource {
  const blocks = new Map<number, Buffer>()
  const blockAt = (index: number): Buffer => {
    const start = index * BLOCK_BYTES
    const block = blocks.get(index) ?? source.read(start, Math.min(BLOCK_BYTES, source.byteSize - start))
    blocks.delete(index)
    blocks.set(index, block)
    if (blocks.size > KEPT_BLOCKS) blocks.delete(blocks.keys().next().value!)
    return block
  }
  const read = (offset: number, length: number): Buffer => {
    const index = Math.floor(offset / BLOCK_BYTES)
    const within = offset - index * BLOCK_BYTES
    if (within + length > BLOCK_BYTES) return source.read(offset, length)
    return blockAt(index).subarray(within, within + length)
  }
  return { byteSize: source.byteSize, read }
}

function readExactly(file: number, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let done = 0; done < length;) {
    const count = readSync(file, bytes, done, length - done, offset + done)
    if (count === 0) throw new BinaryFormatError('the file was truncated while it was read')
    done += count
  }
  return bytes
}

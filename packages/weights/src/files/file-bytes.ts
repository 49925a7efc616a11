import { UnsupportedError, type Segment } from '@tenon/core'
import { filePath } from '@tenon/core/internal'
import { MemorySegment, ResourceScope } from '@tenon/scope'
import { damaged, type WeightsFormatError } from '../weights-format-error.ts'

/**
 * The bytes of a file, of which parts are copied out before they are checked, because other programs can change the file at any time. Bytes that
 * the file has lost read as zeros.
 */
export class FileBytes {
  /** Undefined for bytes of JavaScript. */
  readonly path: string | undefined
  readonly format: string
  readonly byteSize: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array, format: string, path?: string) {
    this.path = path
    this.format = format
    this.byteSize = bytes.byteLength
    this.#bytes = bytes
  }

  /** Returns a copy of bytes within the file. */
  copy(byteOffset: number, byteSize: number): Buffer {
    return Buffer.from(this.#bytes.subarray(byteOffset, byteOffset + byteSize))
  }

  error(byteOffset: number, reason: string, options?: Parameters<typeof damaged>[3]): WeightsFormatError {
    return damaged(this, byteOffset, reason, options)
  }
}

/**
 * Maps a file read-only, and reads its header.
 *
 * @param scope unmaps the file. Default: the garbage collector does.
 * @param read returns the contents. If it throws, the file is unmapped at once.
 * @throws {LoadError} if the file cannot be opened. @throws {ArgumentError | ScopeClosedError} for a wrong path or scope.
 */
export function openMapped<Contents>(
  path: string | URL,
  format: string,
  scope: ResourceScope | undefined,
  read: (file: FileBytes) => Contents,
): { readonly path: string; readonly contents: Contents; readonly segment: Segment } {
  const name = filePath(path)
  if (process.platform === 'win32') {
    throw new UnsupportedError('files are mapped on Linux and macOS only, got Windows', {
      hint: 'Read the bytes of a .npz file, and pass them to readNpz(bytes).',
    })
  }
  const reading = ResourceScope.ofConfined()
  try {
    const mapped = MemorySegment.mapFile(name, reading)
    const { block, base, byteSize } = mapped
    const contents = read(new FileBytes(block.bytes.subarray(base, base + byteSize), format, name))
    return { path: name, contents, segment: mapped.moveTo(scope ?? ResourceScope.ofImplicit()) }
  } finally {
    reading.close()
  }
}

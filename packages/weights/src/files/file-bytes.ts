import { UnsupportedError, type Segment } from '@tenon/core'
import { addressOf, checkUsable, coreFunctions, filePath, keepAlive } from '@tenon/core/internal'
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
  readonly #memory: Uint8Array | Segment

  /** @param memory that of a mapping is copied by its address, because a buffer over a large one costs a collection of garbage. */
  constructor(memory: Uint8Array | Segment, format: string, path?: string) {
    this.path = path
    this.format = format
    this.byteSize = memory instanceof Uint8Array ? memory.byteLength : memory.byteSize
    this.#memory = memory
  }

  /** Returns a copy of bytes within the file. */
  copy(byteOffset: number, byteSize: number): Buffer {
    const memory = this.#memory
    if (memory instanceof Uint8Array) return Buffer.from(memory.subarray(byteOffset, byteOffset + byteSize))
    return copyOf(memory, byteOffset, Buffer.alloc(byteSize))
  }

  error(byteOffset: number, reason: string, options?: Parameters<typeof damaged>[3]): WeightsFormatError {
    return damaged(this, byteOffset, reason, options)
  }
}

/** Copies bytes of a mapping. @param target as many bytes, which lie in the segment */
export function copyOf<Target extends Uint8Array>(segment: Segment, byteOffset: number, target: Target): Target {
  const { block, base } = segment
  checkUsable(block)
  if (target.length === 0) return target
  coreFunctions().tn_memory_copy(addressOf(target), block.address + base + byteOffset, target.length)
  keepAlive(target)
  return target
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
    const contents = read(new FileBytes(mapped, format, name))
    return { path: name, contents, segment: mapped.moveTo(scope ?? ResourceScope.ofImplicit()) }
  } finally {
    reading.close()
  }
}

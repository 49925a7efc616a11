import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { LoadError, Segment } from '@tenon/core'
import { Block, ManagedLifetime, MappedFile } from '@tenon/core/internal'
import { readBytes } from './file-bytes.ts'
import { segmentOver } from './open.ts'

class MappedFileLifetime extends ManagedLifetime {
  readonly segment: Segment
  readonly #path: string
  readonly #file: MappedFile

  constructor(path: string, file: MappedFile) {
    super()
    this.#path = path
    this.#file = file
    const { buffer, address, byteSize } = file
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), address)
    this.segment = new Segment(block, 0, byteSize, 0)
  }

  protected override get label(): string {
    return `the mapped file ${this.#path}`
  }

  protected override release(): void {
    this.#file.close()
  }
}

/**
 * Reads a file, or maps it on Linux. Returns the bytes, and for a mapped file the lifetime that unmaps it.
 *
 * @throws {LoadError} if the file cannot be opened, or is a directory, a pipe or a device.
 */
export function openFile(
  path: string,
  mode: 'map' | 'read',
): { segment: Segment; lifetime: ManagedLifetime | undefined } {
  const descriptor = openDescriptor(path)
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) {
      throw new LoadError(`path must be the path of a file, got a directory, pipe or device at ${path}`, {
        hint: 'Read its bytes into a Buffer, and pass the Buffer to StringTensor.ofSegment().',
        details: { path },
      })
    }
    if (mode === 'map' && process.platform === 'linux' && stat.size > 0) {
      const lifetime = new MappedFileLifetime(path, MappedFile.open(path, descriptor, { byteSize: stat.size }))
      return { segment: lifetime.segment, lifetime }
    }
    // Files of the system have contents although their size is 0.
    const bytes = stat.size === 0 ? readFileSync(descriptor) : readBytes(descriptor, stat.size)
    return { segment: segmentOver(bytes, 'the file'), lifetime: undefined }
  } finally {
    closeSync(descriptor)
  }
}

/** Opens a file. Without O_NONBLOCK, opening a pipe waits until somebody writes to it. @throws {LoadError} */
function openDescriptor(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    throw new LoadError(`path must be a file that can be read, got ${path}: ${(cause as Error).message}`, {
      hint: 'Pass the path of a file that exists. A relative path starts at the working directory.',
      details: { path },
      cause,
    })
  }
}

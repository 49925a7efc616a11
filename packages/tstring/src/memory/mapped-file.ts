import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { Segment } from '@tenon/core'
import { Block, ManagedLifetime, MappedFile } from '@tenon/core/internal'
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

/** Reads a file, or maps it on Linux. Returns the bytes, and for a mapped file the lifetime that unmaps it. */
export function openFile(
  path: string,
  mode: 'map' | 'read',
): { segment: Segment; lifetime: ManagedLifetime | undefined } {
  const descriptor = openSync(path, 'r')
  try {
    const stat = fstatSync(descriptor)
    if (mode === 'map' && process.platform === 'linux' && stat.isFile() && stat.size > 0) {
      const lifetime = new MappedFileLifetime(path, MappedFile.open(path, descriptor, { byteSize: stat.size }))
      return { segment: lifetime.segment, lifetime }
    }
    return { segment: segmentOver(readFileSync(descriptor), 'the file'), lifetime: undefined }
  } finally {
    closeSync(descriptor)
  }
}

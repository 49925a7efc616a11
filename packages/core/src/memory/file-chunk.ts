import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import type { SharedChunk } from './shared-chunk.ts'

/** Opening a FIFO that has replaced the file would wait for another process. Windows has no such flags. */
const READ: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/**
 * The file of a mapping as memory that other processes can map, up to the end of the mapping. They cannot write it. The file is opened again,
 * by its path, when the first process needs it, because a program can have more mappings than descriptors.
 *
 * It refers neither to the mapping nor to its buffer, because processes know it for as long as the mapping exists.
 */
export class FileChunk implements SharedChunk {
  /** The address that the first byte of the file would have. */
  readonly address: number
  readonly byteSize: number
  readonly isWritable = false
  readonly #path: string
  readonly #identity: string
  /** Negative if the file cannot be opened any more. */
  #descriptor: number | undefined
  #hasEnded = false
  readonly #listeners = new Set<() => void>()

  /** @param descriptor one of the file, which the caller may close. @param byteOffset of the mapping in the file. */
  constructor(path: string, descriptor: number, { address, byteOffset, byteSize }: FilePart) {
    this.#path = resolve(path)
    this.#identity = identityOf(descriptor)
    this.address = address - byteOffset
    this.byteSize = byteOffset + byteSize
  }

  get descriptor(): number {
    return (this.#descriptor ??= this.#hasEnded ? -1 : this.#open())
  }

  /** Whether the chunk has a descriptor. It has none if the path has another file, or none, when it is first needed. */
  get hasDescriptor(): boolean {
    return this.descriptor >= 0
  }

  #open(): number {
    try {
      const descriptor = openSync(this.#path, READ)
      // The mapping keeps the file, so no other file has its inode.
      if (identityOf(descriptor) === this.#identity) return descriptor
      closeSync(descriptor)
    } catch {
      // The file was removed or renamed, or may not be read any more.
    }
    return -1
  }

  get isAlive(): boolean {
    return !this.#hasEnded
  }

  onClose(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Calls the listeners and closes the descriptor, before the mapping ends. Later calls have no effect. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
    if (this.#descriptor !== undefined && this.#descriptor >= 0) closeSync(this.#descriptor)
  }
}

interface FilePart {
  readonly address: number
  readonly byteOffset: number
  readonly byteSize: number
}

function identityOf(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return `${dev}:${ino}`
}

import { addressOf, checkSize, wrongType } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { Chunk } from './chunk.ts'
import { closeDescriptor, describeDescriptor, duplicateDescriptor } from './descriptor.ts'
import { addChunk, copyLocations, ImportedMemory } from './imported-memory.ts'
import { mapMemory } from './map-memory.ts'
import { mappingOf } from './mapping.ts'
import type { TensorLocation } from './tensor-location.ts'

/** A chunk of a {@link MemoryHandle}. */
export interface ChunkHandle {
  /** The number of the chunk in its memory. */
  readonly id: number
  readonly byteSize: number
  /** The descriptor in this process, which the owner of the memory closes. */
  readonly descriptor: number
  /** The device and inode of the descriptor's memory. */
  readonly identity: string
  /** The bytes, unless they are read-only or the runtime cannot make such a buffer. */
  readonly shared?: SharedArrayBuffer
}

/** Shared memory as a plain object, which can be posted to other threads of the process. */
export interface MemoryHandle {
  readonly kind: 'tenon.memory'
  /** Identifies the memory. */
  readonly identity: string
  readonly label: string
  readonly chunks: readonly ChunkHandle[]
  /** The tensors that the owner has named. */
  readonly tensors: Readonly<Record<string, TensorLocation>>
}

export function chunkHandle(chunk: Chunk): ChunkHandle {
  const { id, byteSize, descriptor, threads } = chunk
  const { identity } = describeDescriptor(descriptor)
  return { id, byteSize, descriptor, identity, ...(threads === undefined ? {} : { shared: threads }) }
}

/** Opens the memory of a handle. @throws {ArgumentError | ArgumentRangeError | PoolsError} */
export function openHandle(handle: MemoryHandle): ImportedMemory {
  if (typeof handle !== 'object' || handle === null || handle.kind !== 'tenon.memory')
    throw wrongType('handle', 'the handle() of shared memory', handle)
  const { identity, label, chunks, tensors } = handle
  if (typeof identity !== 'string' || typeof label !== 'string' || !Array.isArray(chunks))
    throw wrongType('handle', 'the handle() of shared memory', handle)
  return new ImportedMemory({ identity, label, tensors: copyLocations(tensors) }, (parts) => {
    for (const each of chunks as readonly ChunkHandle[]) {
      const chunk = openChunkHandle(each, parts)
      if (chunk !== undefined) addChunk(parts, chunk)
    }
    if (chunks.length === 0 || parts.chunks.size > 0) return
    throw new PoolsError(
      'INVALID_ARGUMENT',
      'the handle must be that of open memory of this process, got a closed one',
      {
        hint: 'Import the handle before its owner closes the memory, and in the same process.',
      },
    )
  })
}

/** Opens a chunk of a handle; undefined if its owner has closed it. @throws {ArgumentError | ArgumentRangeError | PoolsError} */
function openChunkHandle(handle: ChunkHandle, owner: { readonly open: boolean }): Chunk | undefined {
  if (typeof handle !== 'object' || handle === null) throw wrongType('a chunk of the handle', 'an object', handle)
  const { id, byteSize, descriptor, identity, shared } = handle
  const number = checkSize(id, 'id', 'the chunk')
  const size = checkSize(byteSize, 'byteSize')
  const copy = copyOf(descriptor, identity)
  if (shared instanceof SharedArrayBuffer && shared.byteLength === size && addressOf(shared) !== 0)
    return new Chunk(owner, copy, mappingOf(shared), true, number)
  if (copy === -1) return undefined
  try {
    return mapMemory(copy, { id: number, byteSize: size }, owner)
  } catch (error) {
    closeDescriptor(copy)
    throw error
  }
}

/** Duplicates a descriptor that still is that memory; -1 if it is not. */
function copyOf(descriptor: unknown, identity: unknown): number {
  if (!Number.isInteger(descriptor)) return -1
  let copy
  try {
    copy = duplicateDescriptor(descriptor as number)
  } catch {
    return -1
  }
  // The copy is examined, because the owner can close its descriptor at any time, whose number is used again then.
  if (describeDescriptor(copy).identity === identity) return copy
  closeDescriptor(copy)
  return -1
}

import { checkOptions, describe } from '@tenon/core/internal'
import { join } from 'node:path'
import { PoolsError } from '../error-status.ts'
import { readable } from './readable.ts'
import { peerUser } from './local-socket.ts'
import { closeDescriptor, discardDescriptor } from './descriptor.ts'
import { checkTimeout, connectToListener, receiveMessage } from './foreign-channel.ts'
import { addChunk, copyLocations, ImportedMemory } from './imported-memory.ts'
import { mapMemory } from './map-memory.ts'
import { checkMemoryName, memoryDirectory } from './memory-directory.ts'
import { checkBacking, type MemoryBacking } from './memory-backing.ts'
import { DescriptionReader, MESSAGE_MAXIMUM } from './named-message.ts'
import { openShmFile } from './shm-file.ts'

/** The options of {@link SharedMemory.openNamed}. */
export interface OpenNamedOptions {
  /** The directory of the socket; by default `tenon` in `$XDG_RUNTIME_DIR`. */
  readonly directory?: string
  /** How long the owner may take, in ms; by default 2000. */
  readonly timeout?: number
  /** By default `memfd`. With `shm`, the name is that of a file in `/dev/shm`, which has one chunk with the number 0. */
  readonly backing?: MemoryBacking
}

/** Opens memory that a program of this user has exported. @throws as {@link SharedMemory.openNamed} */
export async function openByName(name: string, options?: OpenNamedOptions): Promise<ImportedMemory> {
  const { directory, timeout = 2000, backing = 'memfd' } = checkOptions(options, ['directory', 'timeout', 'backing'])
  if (checkBacking(backing) === 'shm') return openShmFile(name)
  checkTimeout(timeout)
  const path = join(memoryDirectory(directory, false), checkMemoryName(name))
  const deadline = performance.now() + timeout
  const channel = connectToListener(path, timeout, () => exportedBy(path))
  const descriptors: number[] = []
  try {
    if (peerUser(channel) !== process.getuid!())
      throw new PoolsError('INVALID_ARGUMENT', `the memory ${describe(name)} must be exported by the same user`)
    const reader = new DescriptionReader()
    while (!reader.isComplete) {
      await readable(channel, deadline - performance.now())
      const what = `opening the memory ${describe(name)}`
      const message = receiveMessage(channel, MESSAGE_MAXIMUM, descriptors, what, () => tooLate(name))
      reader.add(message.bytes, message.descriptors)
    }
    const { chunks, tensors, ...facts } = reader.read(descriptors.length)
    return new ImportedMemory({ ...facts, tensors: copyLocations(tensors) }, (parts) => {
      for (const chunk of chunks) {
        const made = mapMemory(descriptors[0]!, chunk, parts)
        descriptors.shift()
        addChunk(parts, made)
      }
    })
  } finally {
    closeDescriptor(channel)
    descriptors.forEach(discardDescriptor)
  }
}

const exportedBy = (path: string): PoolsError =>
  new PoolsError('DEVICE_UNAVAILABLE', `no program exports memory at ${path}`, {
    hint: 'Export the memory with this name and directory, and keep it open.',
  })

const tooLate = (name: string): PoolsError =>
  new PoolsError('MISSED_DEADLINE_TRANSIENT', `the owner of the memory ${describe(name)} did not answer in time`, {
    hint: 'Let its event loop run, or pass a longer timeout.',
  })

import { constants, ftruncateSync } from 'node:fs'
import { TenonError, UnsupportedError } from '@tenon/core'
import { describe, reserveRoom } from '@tenon/core/internal'
import { failed, PoolsError } from '../error-status.ts'
import { Chunk } from './chunk.ts'
import { closeDescriptor, describeDescriptor, openFile } from './descriptor.ts'
import { isLocalFile } from './file-system.ts'
import { ImportedMemory } from './imported-memory.ts'
import { openMapping } from './mapping.ts'
import { checkMemoryName } from './memory-directory.ts'
import { type OwnFile, ownFile, removeOwn } from './own-file.ts'

/** A file of memory in `/dev/shm`, which programs open by its name. Any of them can make it smaller, so mappings are guarded. */
export interface ShmFile {
  readonly descriptor: number
  readonly file: OwnFile
}

/** Creates a file of zeros that only this user can open, and reserves its memory. @throws {PoolsError} if the name is in use, or the file system is full. */
export function createShmFile(name: string, byteSize: number): ShmFile {
  const path = pathOf(name)
  let file: OwnFile | undefined
  try {
    const descriptor = openFile(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, (opened) => {
      file = ownFile(path)
      ftruncateSync(opened, byteSize)
      // A write to memory for which /dev/shm has no room would be lost.
      reserveRoom(opened, 0, byteSize)
    })
    return { descriptor, file: file! }
  } catch (cause) {
    if (file !== undefined) removeOwn(file)
    const { code = '' } = cause as { code?: string }
    throw cannotUse(path, cause, hints[code] ?? (file === undefined ? IN_USE : NO_ROOM))
  }
}

/** Opens a file of `/dev/shm` as imported memory with one chunk of number 0. @throws {PoolsError} */
export function openShmFile(name: string): ImportedMemory {
  const path = pathOf(name)
  let descriptor: number
  try {
    // Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
    descriptor = openFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
  } catch (cause) {
    throw cannotUse(path, cause, 'Open the memory while the program that made it runs, as the same user.')
  }
  try {
    if (!isLocalFile(descriptor)) throw failed('P15', 'the memory must lie on a file system of this machine')
    const { isRegular, byteSize, identity } = describeDescriptor(descriptor)
    if (!isRegular || byteSize === 0) throw failed('P15', 'the memory must be a file that is not empty')
    return new ImportedMemory({ identity, label: name, tensors: {} }, (parts) => {
      const mapping = openMapping(descriptor, 0, byteSize, { isShared: true, isGuarded: true })
      parts.chunks.set(0, new Chunk(parts, descriptor, mapping, true))
    })
  } catch (error) {
    closeDescriptor(descriptor)
    throw error
  }
}

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants

function pathOf(name: string): string {
  const checked = checkMemoryName(name)
  if (process.platform === 'linux') return `/dev/shm/${checked}`
  throw new UnsupportedError(`memory in /dev/shm needs Linux, got ${process.platform}`)
}

const IN_USE = 'Choose another name, or remove the file if the program that made it has crashed.'
const NO_ROOM = 'Use a lower limit, or give /dev/shm more memory: Docker gives it 64 MiB without --shm-size.'

/** Hints for errors of the system that have other reasons. */
const hints: Readonly<Record<string, string>> = {
  EACCES: 'Let this user write to /dev/shm.',
  EFBIG: 'Use a lower limit, or raise the limit for the size of files (ulimit -f).',
  ENOENT: 'Mount a tmpfs at /dev/shm, which this system does not have.',
  EROFS: 'Mount /dev/shm writable.',
}

const reasonOf = (cause: unknown): string => (cause instanceof TenonError ? cause.sentence : (cause as Error).message)

const cannotUse = (path: string, cause: unknown, hint: string): PoolsError =>
  new PoolsError('DEVICE_UNAVAILABLE', `${describe(path)} cannot be used as memory: ${reasonOf(cause)}`, {
    hint,
    cause,
  })

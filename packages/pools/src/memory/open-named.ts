import { ArgumentRangeError } from '@tenon/core'
import { addressOf, checkOptions, describe, keepAlive, STATUS, wrongType } from '@tenon/core/internal'
import { join } from 'node:path'
import { PoolsError } from '../error-status.ts'
import { nanoseconds, check, failure, out, outAddress, sharing } from '../native/core.ts'
import { readable } from './readable.ts'
import { DESCRIPTORS, peerUser } from './local-socket.ts'
import { closeDescriptor, discardDescriptor } from './descriptor.ts'
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

const { NOT_FOUND, TIMED_OUT } = STATUS

/** Opens memory that a program of this user has exported. @throws as {@link SharedMemory.openNamed} */
export async function openByName(name: string, options?: OpenNamedOptions): Promise<ImportedMemory> {
  const { directory, timeout = 2000, backing = 'memfd' } = checkOptions(options, ['directory', 'timeout', 'backing'])
  if (checkBacking(backing) === 'shm') return openShmFile(name)
  if (typeof timeout !== 'number') throw wrongType('timeout', 'a number of ms', timeout)
  if (!(timeout > 0)) throw new ArgumentRangeError(`timeout must be above 0 ms, got ${timeout}`)
  const path = join(memoryDirectory(directory, false), checkMemoryName(name))
  const deadline = performance.now() + timeout
  const channel = connect(path, timeout)
  const descriptors: number[] = []
  try {
    if (peerUser(channel) !== process.getuid!())
      throw new PoolsError('INVALID_ARGUMENT', `the memory ${describe(name)} must be exported by the same user`)
    const reader = new DescriptionReader()
    while (!reader.isComplete) {
      await readable(channel, deadline - performance.now())
      const message = receive(channel, descriptors, name)
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

/** Whether a program listens at a path. */
export function isListening(path: string): boolean {
  const code = tryConnect(path, 100)
  if (code === 0) closeDescriptor(out.i32[0]!)
  return code !== NOT_FOUND.value
}

function connect(path: string, timeout: number): number {
  const code = tryConnect(path, timeout)
  if (code === 0) return out.i32[0]!
  if (code === NOT_FOUND.value) {
    throw new PoolsError('DEVICE_UNAVAILABLE', `no program exports memory at ${path}`, {
      hint: 'Export the memory with this name and directory, and keep it open.',
    })
  }
  throw failure('DEVICE_UNAVAILABLE', `connecting to ${path}`, code)
}

function tryConnect(path: string, timeout: number): number {
  const bytes = Buffer.from(path)
  const limit = nanoseconds(Math.min(timeout, LONGEST))
  const code = sharing().tn_shared_memory_connect(addressOf(bytes), bytes.length, limit, outAddress())
  keepAlive(bytes)
  return code
}

/** A day, in ms. */
const LONGEST = 86_400_000

/** Receives the next message, and adds its descriptors to those that the caller closes. @throws {PoolsError} */
function receive(channel: number, descriptors: number[], name: string): { bytes: Buffer; descriptors: number } {
  const bytes = Buffer.alloc(MESSAGE_MAXIMUM)
  const list = new Int32Array(DESCRIPTORS)
  const at = outAddress()
  const { tn_shared_memory_receive: take } = sharing()
  const code = take(channel, addressOf(bytes), bytes.length, at, addressOf(list), at + 8, 0)
  const [length, count] = [Number(out.u64[0]), Number(out.u64[1])]
  keepAlive(bytes)
  keepAlive(list)
  if (code === TIMED_OUT.value) {
    throw new PoolsError(
      'MISSED_DEADLINE_TRANSIENT',
      `the owner of the memory ${describe(name)} did not answer in time`,
      {
        hint: 'Let its event loop run, or pass a longer timeout.',
      },
    )
  }
  check(code, `opening the memory ${describe(name)}`, 'DEVICE_UNAVAILABLE')
  descriptors.push(...list.subarray(0, count))
  return { bytes: bytes.subarray(0, length), descriptors: count }
}

import { PoolsError } from '../error-status.ts'
import { closeDescriptor, duplicateDescriptor } from '../native/descriptor.ts'
import { importPool, type PoolHandle } from '../pool/import-pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { NativeHandle } from './native-handle.ts'

/** Memory as HIDL hands it over: `ashmem`, `mmap_fd` or `hardware_buffer_blob`. */
export interface HidlMemory {
  readonly name: string
  readonly handle: NativeHandle | null
  /** In bytes. */
  readonly size: number
}

/** Protection of `mmap_fd`, as `mmap` has it. */
const [READ, WRITE] = [1, 2]

/**
 * A pool as HIDL memory. The descriptor stays the pool's: it is good while the pool is open.
 *
 * @throws {PoolsError} for a pool that has no descriptor.
 */
export function poolToHidl(pool: Pool): HidlMemory {
  const { kind, descriptor, byteSize, identityOffset, rights } = pool
  pool.checkAlive()
  if (descriptor === undefined)
    throw new PoolsError('INVALID_ARGUMENT', 'a pool without a descriptor can not be handed over')
  if (kind === 'file') {
    const protection = rights === 'writable' ? READ | WRITE : READ
    const ints = [protection, identityOffset | 0, Math.floor(identityOffset / 2 ** 32)]
    return { name: 'mmap_fd', handle: { fds: [descriptor], ints }, size: byteSize }
  }
  return {
    name: kind === 'shared' ? 'ashmem' : 'hardware_buffer_blob',
    handle: { fds: [descriptor], ints: [] },
    size: byteSize,
  }
}

/**
 * A pool over HIDL memory, checked by the rules P1 to P10 and P15. The handle's descriptors stay the caller's.
 *
 * @returns a pool that the caller closes.
 * @throws {PoolsError} `INVALID_ARGUMENT` for a wrong description, `GENERAL_FAILURE` for wrong memory.
 */
export function poolFromHidl(memory: HidlMemory): Pool {
  const handle = handleOf(memory)
  const descriptor = duplicateDescriptor(handle.descriptor)
  try {
    return importPool({ ...handle, descriptor, keep: true })
  } catch (error) {
    closeDescriptor(descriptor)
    throw error
  }
}

function handleOf({ name, handle, size }: HidlMemory): Omit<PoolHandle, 'keep'> {
  const kinds = ['ashmem', 'mmap_fd', 'hardware_buffer_blob', 'hardware_buffer']
  if (!kinds.includes(name)) throw refused('P1', `memory must be called ${kinds.join(', ')}, got ${name}`)
  if (handle === null) throw refused('P2', `${name} memory must have a handle`)
  const { fds, ints } = handle
  if (fds.some((descriptor) => !(Number.isInteger(descriptor) && descriptor >= 0)))
    throw broken('P8', 'descriptors of a handle must be open')
  if (name === 'hardware_buffer') throw broken('P11', 'hardware buffers that are not blobs are not supported')
  if (name === 'mmap_fd') return { kind: 'file', byteSize: checkSize(size, name), ...fileOf(fds, ints) }
  if (fds.length !== 1 || ints.length !== 0) {
    throw broken(
      name === 'ashmem' ? 'P3' : 'P10',
      `${name} must have 1 descriptor and no ints, got ${fds.length} and ${ints.length}`,
    )
  }
  return { kind: name === 'ashmem' ? 'shared' : 'device-blob', descriptor: fds[0]!, byteSize: checkSize(size, name) }
}

function fileOf(
  fds: readonly number[],
  ints: readonly number[],
): Pick<PoolHandle, 'descriptor' | 'byteOffset' | 'isWritable'> {
  if (fds.length !== 1 || ints.length !== 3)
    throw broken('P4', `mmap_fd must have 1 descriptor and 3 ints, got ${fds.length} and ${ints.length}`)
  const [protection, low, high] = ints as [number, number, number]
  // Nothing at all passes upstream; here it may not be referred to, and there is no other use.
  if ((protection & ~(READ | WRITE)) !== 0 || protection === 0)
    throw refused('P6', `the protection of mmap_fd must be 1, 2 or 3, got ${protection}`)
  return {
    descriptor: fds[0]!,
    isWritable: (protection & WRITE) !== 0,
    byteOffset: (low >>> 0) + (high >>> 0) * 2 ** 32,
  }
}

function checkSize(size: number, name: string): number {
  if (Number.isSafeInteger(size) && size >= 0) return size
  throw refused('P9', `the size of ${name} must be a whole number of bytes, got ${size}`)
}

const refused = (rule: string, sentence: string): PoolsError =>
  new PoolsError('INVALID_ARGUMENT', `${sentence} (rule ${rule})`, { rule })
const broken = (rule: string, sentence: string): PoolsError =>
  new PoolsError('GENERAL_FAILURE', `${sentence} (rule ${rule})`, { rule })

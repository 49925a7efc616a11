import {
  failed,
  refused,
  closeDescriptor,
  duplicateDescriptor,
  importPool,
  type PoolHandle,
} from '@tenon/pools/internal'
import { PoolsError, bufferUsage, type BufferDescription, ImagePool, type Pool } from '@tenon/pools'
import { decodeBufferDescription, encodeBufferDescription } from '../wire/buffer-description.ts'
import type { NativeHandle } from './native-handle.ts'

/**
 * Memory in HIDL: `ashmem`, `mmap_fd`, `hardware_buffer_blob` or `hardware_buffer`. The ints of a hardware buffer's handle, which
 * its allocator defines, are the ten words of its `AHardwareBuffer_Desc` here.
 */
export interface HidlMemory {
  readonly name: string
  readonly handle: NativeHandle | null
  /** The size in bytes; 0 for a `hardware_buffer`. */
  readonly size: number
}

/** The bits of `mmap_fd`'s protection, as for `mmap`. */
const [READ, WRITE] = [1, 2]

/**
 * Converts a pool to HIDL memory. The pool keeps its descriptor, which is valid while the pool is open.
 *
 * @throws {PoolsError} for a pool without a descriptor.
 */
export function poolToHidl(pool: Pool): HidlMemory {
  const { kind, descriptor, byteSize, identityOffset, rights } = pool
  pool.checkAlive()
  if (descriptor === undefined)
    throw new PoolsError('INVALID_ARGUMENT', 'a pool without a descriptor cannot be converted')
  if (kind === 'file') {
    const protection = rights === 'writable' ? READ | WRITE : READ
    const ints = [protection, identityOffset | 0, Math.floor(identityOffset / 2 ** 32)]
    return { name: 'mmap_fd', handle: { fds: [descriptor], ints }, size: byteSize }
  }
  if (kind === 'shared') return { name: 'ashmem', handle: { fds: [descriptor], ints: [] }, size: byteSize }
  const description = pool instanceof ImagePool ? pool.description : blobOf(byteSize)
  return {
    name: kind === 'device-image' ? 'hardware_buffer' : 'hardware_buffer_blob',
    handle: { fds: [descriptor], ints: [...new Int32Array(encodeBufferDescription(description).buffer)] },
    size: byteSize,
  }
}

/** The description that Android's own runtime uses for a linear hardware buffer. */
function blobOf(byteSize: number): BufferDescription {
  const usage = bufferUsage.CPU_READ_OFTEN | bufferUsage.CPU_WRITE_OFTEN
  return { width: byteSize, height: 1, layers: 1, format: 'BLOB', usage, stride: byteSize }
}

/**
 * Makes a pool over HIDL memory, which is checked by the rules P1 to P12 and P15. The caller keeps the handle's descriptors.
 *
 * @returns a pool that the caller closes.
 * @throws {PoolsError} `INVALID_ARGUMENT` for a wrong description, `GENERAL_FAILURE` for wrong memory.
 */
export function poolFromHidl(memory: HidlMemory): Pool {
  const handle = handleOf(memory)
  const descriptor = duplicateDescriptor(handle.attachment)
  try {
    return importPool({ ...handle, attachment: descriptor, keep: true })
  } catch (error) {
    closeDescriptor(descriptor)
    throw error
  }
}

/** A handle whose attachment is a descriptor of the caller. */
type HidlHandle = Omit<PoolHandle, 'keep' | 'attachment'> & { readonly attachment: number }

/** For each name of memory, the number of ints beside its one descriptor, and the rule for both. */
const PARTS = {
  ashmem: ['P3', 0],
  mmap_fd: ['P4', 3],
  hardware_buffer_blob: ['P10', 10],
  hardware_buffer: ['P11', 10],
} as const

function handleOf({ name, handle, size }: HidlMemory): HidlHandle {
  if (!Object.hasOwn(PARTS, name))
    throw refused('P1', `the name of memory must be ${Object.keys(PARTS).join(', ')}, got ${name}`)
  if (handle === null) throw refused('P2', `${name} memory must have a handle`)
  const { fds, ints } = handle
  if (fds.some((descriptor) => !(Number.isInteger(descriptor) && descriptor >= 0)))
    throw failed('P8', 'descriptors of a handle must be open')
  const [rule, count] = PARTS[name as keyof typeof PARTS]
  if (fds.length !== 1 || ints.length !== count)
    throw failed(rule, `${name} must have 1 descriptor and ${count} ints, got ${fds.length} and ${ints.length}`)
  const attachment = fds[0]!
  if (name.startsWith('hardware_buffer')) return { attachment, ...bufferOf(name, ints, size) }
  const byteSize = checkSize(size, name)
  if (name === 'ashmem') return { kind: 'shared', attachment, byteSize }
  return { kind: 'file', attachment, byteSize, ...fileOf(ints as [number, number, number]) }
}

/** Checks the description of a hardware buffer (P10 to P12). */
function bufferOf(name: string, ints: readonly number[], size: number): Omit<HidlHandle, 'attachment'> {
  const image = decodeBufferDescription(new Uint8Array(Int32Array.from(ints).buffer))
  const { CPU_READ_MASK, CPU_WRITE_MASK } = bufferUsage
  if ((image.usage & CPU_READ_MASK) === 0n || (image.usage & CPU_WRITE_MASK) === 0n)
    throw failed('P12', `${name} must have a usage that lets the CPU read and write`)
  if (name === 'hardware_buffer') return { kind: 'device-image', byteSize: size, image }
  const byteSize = checkSize(size, name)
  if (image.format !== 'BLOB' || image.width !== byteSize)
    throw failed('P10', `${name} must be a BLOB of width ${byteSize}, got ${image.format} of ${image.width}`)
  return { kind: 'device-blob', byteSize }
}

function fileOf([protection, low, high]: [number, number, number]): Pick<HidlHandle, 'isWritable' | 'byteOffset'> {
  // Upstream a protection of 0 passes, but such memory is of no use here.
  if ((protection & ~(READ | WRITE)) !== 0 || protection === 0)
    throw refused('P6', `the protection of mmap_fd must be 1, 2 or 3, got ${protection}`)
  return { isWritable: (protection & WRITE) !== 0, byteOffset: (low >>> 0) + (high >>> 0) * 2 ** 32 }
}

function checkSize(size: number, name: string): number {
  if (Number.isSafeInteger(size) && size >= 0) return size
  throw refused('P9', `the size of ${name} must be a whole number of bytes, got ${size}`)
}

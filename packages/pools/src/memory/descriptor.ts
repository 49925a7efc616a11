import { closeSync, openSync } from 'node:fs'
import { addressOf, CONSTANTS, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { check, out, outAddress, sharing } from '../native/core.ts'

export const seals = {
  SEAL: CONSTANTS.TN_SEAL_SEAL as number,
  SHRINK: CONSTANTS.TN_SEAL_SHRINK as number,
  WRITE: CONSTANTS.TN_SEAL_WRITE as number,
  FUTURE_WRITE: CONSTANTS.TN_SEAL_FUTURE_WRITE as number,
} as const

export interface DescriptorInfo {
  readonly byteSize: number
  /** The device and inode, which all descriptors of one file share. */
  readonly identity: string
  /** On Linux the magic number of its file system; elsewhere 1 for a local file system. */
  readonly fileSystem: number
  readonly isRegular: boolean
  readonly seals: number
  readonly canRead: boolean
  readonly canWrite: boolean
  /** Whether it is memory of a device, which has no seals, and cannot shrink. */
  readonly isDmaBuf: boolean
}

/** Creates sealed shared memory; the caller closes the descriptor. @throws {PoolsError} */
export function createSharedMemory(byteSize: number, label: string): number {
  const { tn_shared_memory_create: create } = sharing()
  const name = Buffer.from(label === '' ? 'tenon' : label)
  const code = create(byteSize, addressOf(name), name.length, outAddress())
  check(code, `creating a pool of ${byteSize} bytes`, 'RESOURCE_EXHAUSTED_TRANSIENT')
  keepAlive(name)
  return out.i32[0]!
}

/** Gives the pages of a range back to the system, so that it reads as zeros. Returns false if the system refuses. */
export function punchHole(descriptor: number, offset: number, byteSize: number): boolean {
  return sharing().tn_shared_memory_punch(descriptor, offset, byteSize) === 0
}

/** Adds seals to shared memory. @throws {PoolsError} if the kernel refuses: `WRITE` while the memory is mapped. */
export function sealDescriptor(descriptor: number, added: number): void {
  check(sharing().tn_shared_memory_seal(descriptor, added), 'sealing the pool')
}

export function describeDescriptor(descriptor: number): DescriptorInfo {
  check(sharing().tn_descriptor_describe(descriptor, outAddress()), 'examining a descriptor')
  const { offsets } = LAYOUTS.tn_descriptor_info_t
  const u32 = (offset: number): number => out.u32[offset / 4]!
  const u64 = (offset: number): bigint => out.u64[offset / 8]!
  return {
    byteSize: Number(u64(offsets.byte_size)),
    identity: `${u64(offsets.device)}:${u64(offsets.inode)}`,
    fileSystem: Number(u64(offsets.file_system)),
    isRegular: u32(offsets.is_regular) === 1,
    seals: u32(offsets.seals),
    canRead: u32(offsets.can_read) === 1,
    canWrite: u32(offsets.can_write) === 1,
    isDmaBuf: u32(offsets.is_dma_buf) === 1,
  }
}

/** Returns the seals of a descriptor without asking its file system, which may never answer. @throws {PoolsError} */
export function sealsOf(descriptor: number): number {
  check(sharing().tn_descriptor_seals(descriptor, outAddress()), 'examining a descriptor')
  return out.u32[0]!
}

/** Creates memory of a device; undefined where the system has none. The caller closes the descriptor. */
export function createDmaBuf(byteSize: number): number | undefined {
  const code = sharing().tn_dma_buf_create(byteSize, outAddress())
  return code === 0 ? out.i32[0]! : undefined
}

export function accessDmaBuf(descriptor: number, access: { isWriting: boolean; isEnd: boolean }): void {
  const { TN_DMA_BUF_WRITE: write, TN_DMA_BUF_END: end } = CONSTANTS
  const flags = (access.isWriting ? write : 0) | (access.isEnd ? end : 0)
  check(sharing().tn_dma_buf_access(descriptor, flags), 'synchronising memory of a device')
}

/** Duplicates a descriptor. The caller closes the copy. @throws {PoolsError} */
export function duplicateDescriptor(descriptor: number): number {
  check(sharing().tn_descriptor_duplicate(descriptor, outAddress()), 'duplicating a descriptor')
  return out.i32[0]!
}

/**
 * Opens a file. The caller closes the descriptor, which is a duplicate: at the end of a thread, Node.js closes the numbers that its
 * own functions have returned, also those that the core has closed and that others use again.
 *
 * @param prepare gets the descriptor of Node.js. @throws {PoolsError} and the errors of Node.js
 */
export function openFile(path: string, flags: number, prepare: (descriptor: number) => void = () => {}): number {
  const opened = openSync(path, flags, 0o600)
  try {
    prepare(opened)
    return duplicateDescriptor(opened)
  } finally {
    closeSync(opened)
  }
}

/** Closes a descriptor from a peer, once, and does not wait for its file system, which may never answer. */
export function discardDescriptor(descriptor: number): void {
  check(sharing().tn_descriptor_discard(descriptor), 'closing a descriptor')
}

/** Leaves a descriptor to Node.js, which closes it from now on. */
export function leaveDescriptor(descriptor: number): void {
  sharing().tn_thread_memory_leave(descriptor)
}

export function closeDescriptor(descriptor: number): void {
  check(sharing().tn_descriptor_close(descriptor), 'closing a descriptor')
}

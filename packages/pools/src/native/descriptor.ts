import { addressOf, keepAlive } from '@tenon/core/internal'
import { check, out, outAddress, sharing } from './core.ts'

/** Seals of shared memory, with Linux's values. */
export const seals = { SEAL: 1, SHRINK: 2, GROW: 4, WRITE: 8, FUTURE_WRITE: 16 } as const

/** What a descriptor is, as the kernel says. */
export interface DescriptorInfo {
  readonly byteSize: number
  /** The device and inode: the same for all descriptors of one file. */
  readonly identity: string
  /** On Linux the magic number of its file system; elsewhere 1 for one of this machine. */
  readonly fileSystem: number
  readonly isRegular: boolean
  readonly seals: number
  readonly canRead: boolean
  readonly canWrite: boolean
  /** Memory of a device: it has no seals, and nobody can shrink it. */
  readonly isDmaBuf: boolean
}

/** Creates sealed shared memory; the caller closes the descriptor. @throws {PoolsError} */
export function createSharedMemory(byteSize: number, label: string): number {
  const create = sharing('tn_shared_memory_create', ['uint64_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'])
  const name = Buffer.from(label === '' ? 'tenon' : label)
  check(
    create(byteSize, addressOf(name), name.length, outAddress()),
    `creating a pool of ${byteSize} bytes`,
    'RESOURCE_EXHAUSTED_TRANSIENT',
  )
  keepAlive(name)
  return out.i32[0]!
}

/** @throws {PoolsError} if the kernel refuses: `SEAL_WRITE` while anybody maps the memory. */
export function sealDescriptor(descriptor: number, added: number): void {
  check(sharing('tn_shared_memory_seal', ['int32_t', 'uint32_t'])(descriptor, added), 'sealing the pool')
}

/** @throws {PoolsError} if it is not open. */
export function describeDescriptor(descriptor: number): DescriptorInfo {
  check(sharing('tn_descriptor_describe', ['int32_t', 'uintptr_t'])(descriptor, outAddress()), 'examining a descriptor')
  const { u64, u32 } = out
  return {
    byteSize: Number(u64[0]),
    identity: `${u64[1]}:${u64[2]}`,
    fileSystem: Number(u64[3]),
    isRegular: u32[8] === 1,
    seals: u32[9]!,
    canRead: u32[10] === 1,
    canWrite: u32[11] === 1,
    isDmaBuf: u32[12] === 1,
  }
}

/** The seals of a descriptor, without asking the file system behind it, which may never answer. @throws {PoolsError} */
export function sealsOf(descriptor: number): number {
  check(sharing('tn_descriptor_seals', ['int32_t', 'uintptr_t'])(descriptor, outAddress()), 'examining a descriptor')
  return out.u32[0]!
}

/** Memory of a device; undefined where the system has none to give. The caller closes the descriptor. */
export function createDmaBuf(byteSize: number): number | undefined {
  const code = Number(sharing('tn_dma_buf_create', ['uint64_t', 'uintptr_t'])(byteSize, outAddress()))
  return code === 0 ? out.i32[0]! : undefined
}

/** Begins or ends an access of this process to memory of a device. @throws {PoolsError} */
export function accessDmaBuf(
  descriptor: number,
  access: { readonly isWriting: boolean; readonly isEnd: boolean },
): void {
  const flags = (access.isWriting ? 1 : 0) | (access.isEnd ? 2 : 0)
  check(sharing('tn_dma_buf_access', ['int32_t', 'uint32_t'])(descriptor, flags), 'synchronising memory of a device')
}

/** A second descriptor for the same thing; the caller closes it. @throws {PoolsError} */
export function duplicateDescriptor(descriptor: number): number {
  check(
    sharing('tn_descriptor_duplicate', ['int32_t', 'uintptr_t'])(descriptor, outAddress()),
    'duplicating a descriptor',
  )
  return out.i32[0]!
}

/** Closes a descriptor that came from a peer, once: what is behind it may never answer, and nobody waits for that. */
export function discardDescriptor(descriptor: number): void {
  check(sharing('tn_descriptor_discard', ['int32_t'])(descriptor), 'closing a descriptor')
}

/** Closes a descriptor, once. @throws {PoolsError} */
export function closeDescriptor(descriptor: number): void {
  check(sharing('tn_descriptor_close', ['int32_t'])(descriptor), 'closing a descriptor')
}

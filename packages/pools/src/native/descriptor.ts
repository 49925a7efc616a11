import { addressOf } from '@tenon/core/internal'
import { check, core, out, outAddress } from './core.ts'

/** Seals of shared memory, with Linux's values. */
export const seals = { SEAL: 1, SHRINK: 2, GROW: 4, WRITE: 8, FUTURE_WRITE: 16 } as const

/** What a descriptor is, as the kernel says. */
export interface DescriptorInfo {
  readonly byteSize: number
  /** The device and inode: the same for all descriptors of one file. */
  readonly identity: string
  /** The magic number of its file system. */
  readonly fileSystem: number
  readonly isRegular: boolean
  readonly seals: number
  readonly canRead: boolean
  readonly canWrite: boolean
}

/** Creates sealed shared memory; the caller closes the descriptor. @throws {PoolsError} */
export function createSharedMemory(byteSize: number, label: string): number {
  const create = core('tn_shared_memory_create', ['uint64_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'])
  const name = Buffer.from(label === '' ? 'tenon' : label)
  check(
    create(byteSize, addressOf(name), name.length, outAddress()),
    `creating a pool of ${byteSize} bytes`,
    'RESOURCE_EXHAUSTED_TRANSIENT',
  )
  return out.i32[0]!
}

/** @throws {PoolsError} if the kernel refuses: `SEAL_WRITE` while anybody maps the memory. */
export function sealDescriptor(descriptor: number, added: number): void {
  check(core('tn_shared_memory_seal', ['int32_t', 'uint32_t'])(descriptor, added), 'sealing the pool')
}

/** @throws {PoolsError} if it is not open. */
export function describeDescriptor(descriptor: number): DescriptorInfo {
  check(core('tn_descriptor_describe', ['int32_t', 'uintptr_t'])(descriptor, outAddress()), 'examining a descriptor')
  const { u64, u32 } = out
  return {
    byteSize: Number(u64[0]),
    identity: `${u64[1]}:${u64[2]}`,
    fileSystem: Number(u64[3]),
    isRegular: u32[8] === 1,
    seals: u32[9]!,
    canRead: u32[10] === 1,
    canWrite: u32[11] === 1,
  }
}

/** A second descriptor for the same thing; the caller closes it. @throws {PoolsError} */
export function duplicateDescriptor(descriptor: number): number {
  check(core('tn_descriptor_duplicate', ['int32_t', 'uintptr_t'])(descriptor, outAddress()), 'duplicating a descriptor')
  return out.i32[0]!
}

/** Closes a descriptor, once. @throws {PoolsError} */
export function closeDescriptor(descriptor: number): void {
  check(core('tn_descriptor_close', ['int32_t'])(descriptor), 'closing a descriptor')
}

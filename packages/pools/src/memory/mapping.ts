import { addressOf, bufferOrFree, CONSTANTS, coreFunctions, keepAlive } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { check, failure, out, outAddress, sharing } from '../native/core.ts'
import { platform } from '../native/platform.ts'

/** The number of closed mappings with raw views that keep their addresses. */
const RETIRED = 64

/** Closed mappings that an operation of another thread may still use, oldest first. */
const retired: { readonly address: number; readonly byteSize: number }[] = []

export interface Mapping {
  readonly address: number
  readonly byteSize: number
  /** A buffer over the memory; undefined where the runtime forbids that. */
  readonly buffer: ArrayBuffer | SharedArrayBuffer | undefined
  readonly isGuarded: boolean
}

export interface MappingOptions {
  /** Whether others see what is written. Otherwise written pages become private copies. */
  readonly isShared: boolean
  /** Whether pages that the file loses are replaced by zeros and recorded: see {@link hasMissingPages}. */
  readonly isGuarded: boolean
}

/** Maps part of a descriptor, which may be closed afterwards. @throws {PoolsError} P17 */
export function openMapping(descriptor: number, offset: number, byteSize: number, options: MappingOptions): Mapping {
  const { isShared, isGuarded } = options
  const { TN_MAPPING_SHARED: shared, TN_MAPPING_GUARDED: guarded, TN_MAPPING_OF_THREAD: ofThread } = CONSTANTS
  const flags = (isShared ? shared : 0) | (isGuarded ? guarded : 0) | ofThread
  const code = sharing().tn_mapping_open(descriptor, offset, byteSize, flags, outAddress())
  if (code !== 0) {
    const { sentence, details } = failure('GENERAL_FAILURE', 'mapping a pool', code)
    throw new PoolsError('GENERAL_FAILURE', sentence, { rule: 'P17', details })
  }
  const address = Number(out.u64[0])
  const buffer = platform.hasViews() ? bufferOrFree(address, byteSize, (at) => unmap(at, byteSize)) : undefined
  return { address, byteSize, buffer, isGuarded }
}

/** Open pools of this process's own memory. The garbage collector frees the memory of closed ones. */
const own = new Set<Mapping>()

/** Makes a mapping of memory that the threads of this process share, for systems without descriptors. */
export function mapOwn(buffer: SharedArrayBuffer): Mapping {
  const mapping = mappingOf(buffer)
  own.add(mapping)
  return mapping
}

/** Describes the mapping of a SharedArrayBuffer that another thread has made. */
export function mappingOf(buffer: SharedArrayBuffer): Mapping {
  return { address: addressOf(buffer), byteSize: buffer.byteLength, buffer, isGuarded: false }
}

/** Detaches the buffer and unmaps it, or maps zeros if raw views, which system threads may use, were handed out. */
export function closeMapping(mapping: Mapping, wasExposed: boolean): void {
  // The engine unmaps memory of a SharedArrayBuffer, when no thread has it any more.
  if (own.delete(mapping) || mapping.buffer instanceof SharedArrayBuffer) return
  const { address, byteSize, buffer } = mapping
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
  if (!wasExposed) return unmap(address, byteSize)
  check(sharing().tn_mapping_retire(address, byteSize), 'retiring a mapping')
  retired.push({ address, byteSize })
  if (retired.length > RETIRED) {
    const oldest = retired.shift()!
    unmap(oldest.address, oldest.byteSize)
  }
}

function unmap(address: number, byteSize: number): void {
  check(sharing().tn_mapping_close(address, byteSize), 'unmapping a pool')
}

/** Copies bytes into or out of a mapping without a buffer. The caller has checked the range. */
export function copyMapped(address: number, bytes: Uint8Array, isWriting: boolean): void {
  if (bytes.length === 0) return
  const local = addressOf(bytes)
  coreFunctions().tn_memory_copy(isWriting ? address : local, isWriting ? local : address, bytes.length)
  keepAlive(bytes)
}

/** Whether pages of a part of a guarded mapping were missing when they were accessed. The mapping does not show the file there since then. */
export function hasMissingPages({ address }: Mapping, byteOffset: number, byteSize: number): boolean {
  check(sharing().tn_mapping_missing(address + byteOffset, byteSize, outAddress()), 'examining a mapping')
  return out.u64[0] !== 0n
}

/** Waits until a shared mapping of a file is on its device. @throws {PoolsError} */
export function syncMapping({ address, byteSize }: Mapping): void {
  check(sharing().tn_mapping_sync(address, byteSize), 'writing a file pool')
}

/** The memory of all open pools of this process. */
export interface PoolUsage {
  readonly mappings: number
  readonly mappedBytes: number
}

/**
 * Counts the mappings of this process, for monitoring and for tests that look for leaks.
 *
 * @example
 * const { mappings, mappedBytes } = poolUsage()
 */
export function poolUsage(): PoolUsage {
  let [mappings, mappedBytes] = [own.size, [...own].reduce((sum, { byteSize }) => sum + byteSize, 0)]
  if (platform.sharesDescriptors()) {
    sharing().tn_mapping_totals(outAddress(), outAddress() + 8)
    mappings += Number(out.u64[0]) - retired.length
    mappedBytes += Number(out.u64[1]) - retired.reduce((sum, { byteSize }) => sum + byteSize, 0)
  }
  return { mappings, mappedBytes }
}

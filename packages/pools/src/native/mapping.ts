import { addressOf, bufferOver, CONSTANTS, coreFunctions, keepAlive } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { check, failure, out, outAddress, sharing } from './core.ts'
import { hasViews, sharesDescriptors } from './platform.ts'

/** The page that offsets of mappings are multiples of, in bytes. */
export function pageSize(): number {
  return Number(sharing().tn_page_size())
}

/** How many mappings that raw views were taken of keep their addresses after they are closed. */
const RETIRED = 64

/** Closed mappings over whose addresses an operation of another thread may still run, oldest first. */
const retired: { readonly address: number; readonly byteSize: number }[] = []

/** Memory of a pool in this process: bytes of a descriptor, or of the process itself. */
export interface Mapping {
  readonly address: number
  readonly byteSize: number
  /** What JavaScript looks at it through; undefined where the runtime forbids that. Shared memory of the process itself. */
  readonly buffer: ArrayBuffer | SharedArrayBuffer | undefined
  readonly isGuarded: boolean
}

export interface MappingOptions {
  /** Written through to everybody; otherwise pages that are written become private copies. */
  readonly isShared: boolean
  /** Survive that the file is truncated: see {@link mappingFaults}. */
  readonly isGuarded: boolean
}

/** Maps part of a descriptor, which may be closed afterwards. @throws {PoolsError} P17 */
export function openMapping(descriptor: number, offset: number, byteSize: number, options: MappingOptions): Mapping {
  const { isShared, isGuarded } = options
  const { TN_MAPPING_SHARED: shared, TN_MAPPING_GUARDED: guarded } = CONSTANTS
  const flags = (isShared ? shared : 0) | (isGuarded ? guarded : 0)
  const code = sharing().tn_mapping_open(descriptor, offset, byteSize, flags, outAddress())
  if (code !== 0) {
    const { sentence, details } = failure('GENERAL_FAILURE', 'mapping a pool', code)
    throw new PoolsError('GENERAL_FAILURE', sentence, { rule: 'P17', details })
  }
  const address = Number(out.u64[0])
  return { address, byteSize, buffer: hasViews() ? bufferOver(address, byteSize) : undefined, isGuarded }
}

/** Memory of this process that is open at the moment: the garbage collector frees what is closed. */
const own = new Set<Mapping>()

/** Makes a mapping of memory that the threads of this process share, where there are no descriptors. */
export function mapOwn(buffer: SharedArrayBuffer): Mapping {
  const mapping = { address: addressOf(buffer), byteSize: buffer.byteLength, buffer, isGuarded: false }
  own.add(mapping)
  return mapping
}

/**
 * Detaches the buffer, so that no view of it reaches memory again, and unmaps. If raw views were handed out (`wasExposed`), a
 * thread of the system may still read or write: then the addresses stay taken for a while, over zeros.
 */
export function closeMapping(mapping: Mapping, wasExposed: boolean): void {
  if (own.delete(mapping)) return
  const { address, byteSize, buffer } = mapping
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
  if (!wasExposed) return unmap(address, byteSize)
  check(sharing().tn_mapping_retire(address, byteSize), 'taking memory away')
  retired.push({ address, byteSize })
  if (retired.length > RETIRED) {
    const oldest = retired.shift()!
    unmap(oldest.address, oldest.byteSize)
  }
}

function unmap(address: number, byteSize: number): void {
  check(sharing().tn_mapping_close(address, byteSize), 'unmapping a pool')
}

/** Copies bytes out of a mapping that can't be looked at. The caller has checked the range. */
export function copyFromMapping({ address }: Mapping, byteOffset: number, target: Uint8Array): void {
  copyMemory(addressOf(target), address + byteOffset, target.length)
  keepAlive(target)
}

/** Copies bytes into a mapping that can't be looked at. The caller has checked the range. */
export function copyToMapping({ address }: Mapping, byteOffset: number, source: Uint8Array): void {
  copyMemory(address + byteOffset, addressOf(source), source.length)
  keepAlive(source)
}

function copyMemory(to: number, from: number, byteSize: number): void {
  if (byteSize > 0) coreFunctions().tn_memory_copy(to, from, byteSize)
}

/** How often a page of a guarded mapping was missing; 0 for others. */
export function mappingFaults({ address, isGuarded }: Mapping): number {
  if (!isGuarded) return 0
  check(sharing().tn_mapping_faults(address, outAddress()), 'asking for faults')
  return Number(out.u64[0])
}

/** Waits until a shared mapping of a file is on its device. @throws {PoolsError} */
export function syncMapping({ address, byteSize }: Mapping): void {
  check(sharing().tn_mapping_sync(address, byteSize), 'writing a file pool')
}

/** What pools of this process hold at the moment. */
export interface PoolUsage {
  readonly mappings: number
  readonly mappedBytes: number
}

/**
 * Counts what is mapped in this process: for tests that look for leaks, and for monitoring.
 *
 * @example
 * const { mappings, mappedBytes } = poolUsage()
 */
export function poolUsage(): PoolUsage {
  let [mappings, mappedBytes] = [own.size, [...own].reduce((sum, { byteSize }) => sum + byteSize, 0)]
  if (sharesDescriptors()) {
    sharing().tn_mapping_totals(outAddress(), outAddress() + 8)
    mappings += Number(out.u64[0]) - retired.length
    mappedBytes += Number(out.u64[1]) - retired.reduce((sum, { byteSize }) => sum + byteSize, 0)
  }
  return { mappings, mappedBytes }
}

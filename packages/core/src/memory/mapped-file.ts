import { CONSTANTS } from '../generated/layouts.ts'
import { NativeError } from '../errors/kinds.ts'
import { checkStatus, coreFunctions, lastError, statusName } from '../native/core-library.ts'
import { bufferOver } from '../native/call/buffer-over.ts'
import { addressOf } from '../native/native-memory.ts'
import { detachBuffer, isDetached } from './array-buffer.ts'

export interface MappedFileOptions {
  /** The offset of the first byte in the file: a multiple of {@link pageSize}. */
  readonly byteOffset?: number
  readonly byteSize: number
  /** Whether writes go to the file. Without it, written pages are private copies. */
  readonly isShared?: boolean
}

/**
 * A part of a file that is mapped into memory. If the file is truncated, the lost pages read as zeros. The opener must close
 * the mapping once.
 */
export class MappedFile {
  readonly address: number
  readonly byteSize: number
  readonly buffer: ArrayBuffer
  /** Does not refer to this object or to the buffer, so that a `Cleaner` can keep the function. */
  readonly unmap: () => void

  private constructor(address: number, byteSize: number) {
    this.address = address
    this.byteSize = byteSize
    this.buffer = bufferOver(address, byteSize)
    this.unmap = unmapper(address, byteSize)
  }

  /** The file may be closed afterwards. @throws {NativeError} if the system or the runtime refuses. */
  static open(path: string, descriptor: number, options: MappedFileOptions): MappedFile {
    const { byteOffset = 0, byteSize, isShared = false } = options
    const out = new BigUint64Array(1)
    const flags = CONSTANTS.TN_MAPPING_GUARDED | (isShared ? CONSTANTS.TN_MAPPING_SHARED : 0)
    const status = coreFunctions().tn_mapping_open(descriptor, byteOffset, byteSize, flags, addressOf(out))
    if (status !== 0) throw mappingError(path, status)
    const address = Number(out[0])
    try {
      return new MappedFile(address, byteSize)
    } catch (error) {
      unmapper(address, byteSize)()
      throw error
    }
  }

  /** Writes the changed pages of a shared mapping to the file, from `byteOffset` (a multiple of the page size) on. */
  sync(byteOffset: number, byteSize: number): void {
    checkStatus(coreFunctions().tn_mapping_sync(this.address + byteOffset, byteSize), 'writing a mapped file')
  }

  advise(byteOffset: number, byteSize: number, isNeeded: boolean): void {
    const status = coreFunctions().tn_pages_advise(this.address + byteOffset, byteSize, isNeeded ? 1 : 0)
    checkStatus(status, `${isNeeded ? 'loading' : 'unloading'} a mapped file`)
  }

  residentPages(byteOffset: number, byteSize: number): number {
    const out = new BigUint64Array(1)
    const status = coreFunctions().tn_pages_resident(this.address + byteOffset, byteSize, addressOf(out))
    checkStatus(status, 'looking up a mapped file')
    return Number(out[0])
  }

  /** If a user has transferred the buffer, the pages stay mapped, because a leak is better than a dangling view. */
  close(): void {
    if (!isDetached(this.buffer) && detachBuffer(this.buffer)) this.unmap()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

function unmapper(address: number, byteSize: number): () => void {
  return () => checkStatus(coreFunctions().tn_mapping_close(address, byteSize), 'unmapping a file')
}

function mappingError(path: string, status: number): NativeError {
  return new NativeError(`mapping ${path} failed: ${lastError()}`, {
    hint:
      'Map less, or close mappings that you no longer need. The garbage collector unmaps those of implicit scopes between ' +
      'turns of the event loop. Linux limits the number of mappings by vm.max_map_count.',
    details: { path, status: statusName(status) },
  })
}

let knownPageSize: number | undefined

/** The size of a page in bytes: offsets of mappings are multiples of it. */
export function pageSize(): number {
  return (knownPageSize ??= Number(coreFunctions().tn_page_size()))
}

import { fstatSync, readFileSync, statSync } from 'node:fs'
import { CONSTANTS } from '../generated/layouts.ts'
import { STATUS } from '../generated/status.ts'
import { NativeError, ScopeClosedError } from '../errors/kinds.ts'
import { checkStatus, coreFunctions, lastError, statusName } from '../native/core-library.ts'
import { bufferOver } from '../native/call/buffer-over.ts'
import { addressOf } from '../native/native-memory.ts'
import { detachBuffer, isDetached, moveBuffer } from './array-buffer.ts'
import type { PartSource } from './block.ts'
import { Cleaner } from './cleaner.ts'
import { FileChunk } from './file-chunk.ts'
import type { SharedChunk } from './shared-chunk.ts'

export interface MappedFileOptions {
  /** The offset of the first byte in the file: a multiple of {@link pageSize}. */
  readonly byteOffset?: number
  readonly byteSize: number
  /** Whether writes go to the file. Without it, written pages are private copies. */
  readonly isShared?: boolean
  /** Whether other processes may map the file as well, which then never show writes to private copies. */
  readonly isForProcesses?: boolean
}

/**
 * A part of a file that is mapped into memory. If the file is truncated, the lost pages read as zeros. Writes to pages that the file
 * does not have, or for which its file system has no room, are lost, which {@link lostWrites} reads. The opener must close the
 * mapping once.
 */
export class MappedFile implements PartSource {
  readonly address: number
  readonly byteSize: number
  readonly start = 0
  #buffer: ArrayBuffer | undefined
  readonly #state: { isMapped: boolean }
  /** Does not refer to this object or to the buffer, so that a `Cleaner` can keep the function. */
  readonly unmap: () => void
  /** The writes that did not reach the file; undefined for private copies. Does not refer to this object, as {@link unmap}. */
  readonly lostWrites: LostWrites | undefined
  /** Ends the use of the file by other processes, which {@link unmap} does too. Does not refer to this object. */
  readonly endShared: () => void
  readonly #chunk: FileChunk | undefined

  private constructor(address: number, byteSize: number, lostWrites?: LostWrites, chunk?: FileChunk) {
    this.address = address
    this.byteSize = byteSize
    this.#state = { isMapped: true }
    this.unmap = unmapper(address, byteSize, this.#state, chunk)
    this.lostWrites = lostWrites
    this.endShared = () => chunk?.end()
    this.#chunk = chunk
  }

  /** The file may be closed afterwards. @throws {NativeError} if the system refuses. @throws {UnsupportedError} as {@link bufferOver} */
  static open(path: string, descriptor: number, options: MappedFileOptions): MappedFile {
    const { byteOffset = 0, byteSize, isShared = false, isForProcesses = false } = options
    const out = new BigUint64Array(2)
    coreFunctions().tn_mapping_totals(addressOf(out), addressOf(out) + 8)
    if (out[0]! >= mostMappings())
      throw mappingError(path, `the process has ${out[0]} mappings`, STATUS.OUT_OF_MEMORY.value)
    const flags = CONSTANTS.TN_MAPPING_GUARDED | (isShared ? CONSTANTS.TN_MAPPING_SHARED : 0)
    const status = coreFunctions().tn_mapping_open(descriptor, byteOffset, byteSize, flags, addressOf(out))
    if (status !== 0) throw mappingError(path, lastError(), status)
    const address = Number(out[0])
    try {
      // Where the runtime has no such buffers, no byte could be read.
      detachBuffer(bufferOver(address, 1))
      const lostWrites = isShared ? new LostWrites(path, address, byteOffset, sizeOf(path, descriptor)) : undefined
      const chunk = isForProcesses ? new FileChunk(path, descriptor, { address, byteOffset, byteSize }) : undefined
      return new MappedFile(address, byteSize, lostWrites, chunk)
    } catch (error) {
      unmapper(address, byteSize)()
      throw error
    }
  }

  /**
   * Writes the changed pages of a shared mapping to the file, from `byteOffset` (a multiple of the page size) on.
   *
   * @throws {NativeError} if the system refuses, or writes to the mapping were lost.
   */
  sync(byteOffset: number, byteSize: number): void {
    // Writing the last page of a file clears the bytes behind the end, which may have been written.
    this.lostWrites?.read()
    checkStatus(coreFunctions().tn_mapping_sync(this.address + byteOffset, byteSize), 'writing a mapped file')
    const lost = this.lostWrites?.read()
    if (lost !== undefined) throw lost
  }

  /**
   * A buffer over all of the mapping; another one at the same address after {@link detachViews}. It is made when it is first used, because the engine
   * counts its bytes as those of the heap, and collects garbage when a large one is made.
   *
   * @throws {ScopeClosedError} if the mapping was closed.
   */
  get buffer(): ArrayBuffer {
    if (!this.#state.isMapped) throw new ScopeClosedError('the mapping of a file was closed')
    return (this.#buffer ??= bufferOver(this.address, this.byteSize))
  }

  /** The file, if other processes can map it. It is opened for the first of them. */
  get shared(): SharedChunk | undefined {
    return this.#chunk?.hasDescriptor === true ? this.#chunk : undefined
  }

  /** The buffer of the whole mapping. */
  bufferOf(): ArrayBuffer {
    return this.buffer
  }

  /** Detaches the views of a user, and goes on with another buffer. @throws {TypeError} if the engine refuses. */
  detachViews(): void {
    if (this.#buffer !== undefined) this.#buffer = moveBuffer(this.#buffer)
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
    const buffer = this.#buffer
    if (buffer === undefined || (!isDetached(buffer) && detachBuffer(buffer))) this.unmap()
  }

  /**
   * {@link close} for a mapping whose buffer views of the user may reach. The addresses stay reserved until the garbage collector has
   * collected the buffer, because a read of a file into a view may be in progress on another thread.
   */
  retire(): void {
    const { address, byteSize, buffer } = this
    if (isDetached(buffer) || !detachBuffer(buffer)) return
    this.#chunk?.end()
    checkStatus(coreFunctions().tn_mapping_retire(address, byteSize), 'unmapping a file')
    retired.watch(buffer, this.unmap)
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

const retired = new Cleaner<() => void>((unmap) => unmap())

function unmapper(
  address: number,
  byteSize: number,
  state: { isMapped: boolean } = { isMapped: true },
  chunk?: FileChunk,
): () => void {
  return () => {
    chunk?.end()
    state.isMapped = false
    checkStatus(coreFunctions().tn_mapping_close(address, byteSize), 'unmapping a file')
  }
}

const NONE_LOST = 2n ** 64n - 1n

/** Returns a function for the size of a file that is found by its path again, and Infinity if the path has another file or none. */
function sizeOf(path: string, descriptor: number): () => number {
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return () => {
    try {
      const now = statSync(path, { bigint: true })
      return now.dev === dev && now.ino === ino ? Number(now.size) : Infinity
    } catch {
      return Infinity
    }
  }
}

/** The writes to a mapping that did not reach its file. */
export class LostWrites {
  readonly #path: string
  readonly #address: number
  readonly #byteOffset: number
  readonly #fileSize: () => number
  /** The first lost byte that was found, from the start of the mapping. */
  #first = NONE_LOST

  /** @param byteOffset that of the mapping in the file. @param fileSize the size that the file has now, or Infinity. */
  constructor(path: string, address: number, byteOffset: number, fileSize: () => number) {
    this.#path = path
    this.#address = address
    this.#byteOffset = byteOffset
    this.#fileSize = fileSize
  }

  /**
   * Returns the error for writes that were lost, as often as it is asked, because later writes to the same pages are lost as well. Of writes to
   * the last page, behind the end of the file, those are not found that the system has cleared since, so they read as zeros.
   */
  read(): NativeError | undefined {
    const out = new BigUint64Array(1)
    const available = Math.min(Math.max(this.#fileSize() - this.#byteOffset, 0), Number.MAX_SAFE_INTEGER)
    checkStatus(coreFunctions().tn_mapping_lost(this.#address, available, addressOf(out)), 'examining a mapping')
    if (out[0]! < this.#first) this.#first = out[0]!
    if (this.#first === NONE_LOST) return undefined
    const [path, byteOffset] = [this.#path, this.#byteOffset + Number(this.#first)]
    return new NativeError(
      `writes to the file ${path} from byte ${byteOffset} on were lost, because pages of the file are missing`,
      {
        hint:
          'The file was made smaller while it was mapped, or its file system is full. Let mapFile() make the file larger with byteSize, ' +
          'which reserves the room.',
        details: { path, byteOffset },
      },
    )
  }

  /** Returns the error for writes that were lost, unless it was returned before for the same first byte. */
  readNew(): NativeError | undefined {
    const known = this.#first
    const lost = this.read()
    return this.#first === known ? undefined : lost
  }
}

/**
 * Takes room on the file system for a part of a file, so that writes to a mapping of it are not lost.
 *
 * @throws {NativeError} if the file system is full. File systems that cannot reserve room are left as they are.
 */
export function reserveRoom(descriptor: number, byteOffset: number, byteSize: number): void {
  checkStatus(coreFunctions().tn_file_reserve(descriptor, byteOffset, byteSize), 'reserving room on the file system')
}

let knownMostMappings: number | undefined

/** Half of the mappings that Linux allows a process. The engine ends the process if none are left for it. */
export function mostMappings(): number {
  if (knownMostMappings !== undefined) return knownMostMappings
  let allowed = 65_530
  try {
    allowed = Number(readFileSync('/proc/sys/vm/max_map_count', 'utf8'))
  } catch {
    // Other systems have larger limits, or none.
  }
  return (knownMostMappings = Math.floor(allowed / 2))
}

function mappingError(path: string, reason: string, status: number): NativeError {
  return new NativeError(`mapping ${path} failed: ${reason}`, {
    hint:
      'Map less, or close mappings that you no longer need. The garbage collector unmaps those of implicit scopes between ' +
      'turns of the event loop. At most half of vm.max_map_count can be used.',
    details: { path, status: statusName(status) },
  })
}

let knownPageSize: number | undefined

/** The size of a page in bytes: offsets of mappings are multiples of it. */
export function pageSize(): number {
  return (knownPageSize ??= Number(coreFunctions().tn_page_size()))
}

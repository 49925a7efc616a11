import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { ArgumentError, ArgumentRangeError, LoadError, NativeError, Segment, TenonError } from '@tenon/core'
import {
  Block,
  checkName,
  checkOptions,
  checkSize,
  checkUsable,
  type LostWrites,
  MappedFile,
  pageSize,
  READ_ONLY,
  reserveRoom,
  shareMapping,
  wrongType,
} from '@tenon/core/internal'
import { checkWord } from '../check.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { newChunk, type Upkeep } from '../scope/chunk.ts'
import { ImplicitScope } from '../scope/gc-scopes.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { AtomicAccess } from './atomics.ts'

/** Options for mapping a file. */
export interface MapOptions {
  /**
   * With `read` (the default), the segment is read-only. With `write`, changes are written to the file, which is created with a `byteSize` and
   * enlarged to it, with reserved room. If the file system has no room for other pages that the file lacks, or the file was made
   * smaller, changes are lost, and `force()` or closing the scope throws a `NativeError`. With `copy`, changes are visible only to this process.
   */
  readonly access?: 'read' | 'write' | 'copy'
  /** The offset of the first byte in the file. It need not be aligned to a page. */
  readonly byteOffset?: number
  /** The number of bytes to map. Default: up to the end of the file. */
  readonly byteSize?: number
}

type Access = NonNullable<MapOptions['access']>

/** The end of a mapping that the garbage collector owns. It does not refer to the mapping. */
interface Ending {
  unmap: () => void
  lostWrites: LostWrites | undefined
}

/** A mapping of whole pages. A mapping of 0 bytes has no file. */
interface Mapping {
  readonly file: MappedFile | undefined
  readonly access: Access
  readonly ending: Ending
  /** The mapping for other threads, which keep it mapped. */
  threads: SharedArrayBuffer | undefined
}

const mappings = new WeakMap<Block, Mapping>()

export function mapFile(path: string, scope?: ResourceScope, options?: MapOptions): Segment {
  checkName(path, 'path')
  if (typeof scope === 'number')
    throw wrongType(
      'scope',
      'a scope',
      scope,
      "Write MemorySegment.mapFile(path, scope, { byteOffset, byteSize, access: 'write' }).",
    )
  const { access = 'read', byteOffset = 0, byteSize } = checkOptions(options, ['access', 'byteOffset', 'byteSize'])
  checkWord(access, ['read', 'write', 'copy'], 'access')
  const offset = checkSize(byteOffset, 'byteOffset')
  const wanted = byteSize === undefined ? undefined : checkSize(byteSize, 'byteSize')
  const owner = scope === undefined ? new ImplicitScope() : checkScope(scope)
  // A file without a size would have nothing to map, and a wrong path would leave it behind.
  const created = wanted === undefined ? 0 : constants.O_CREAT
  const flags = access === 'write' ? constants.O_RDWR | created : constants.O_RDONLY
  const descriptor = attemptOn(path, LoadError, 'opened', () => openSync(path, flags | WITHOUT_WAITING, 0o666))
  try {
    const size = sizeFor(descriptor, path, access, offset, wanted)
    const start = size === 0 ? offset : offset - (offset % pageSize())
    const room = offset + size - start
    const isShared = access === 'write'
    const file =
      room === 0
        ? undefined
        : MappedFile.open(path, descriptor, {
            byteOffset: start,
            byteSize: room,
            isShared,
            isForProcesses: access === 'read',
          })
    const block = blockOver(file, access, owner)
    return new Segment(block, offset - start, size, access === 'read' ? READ_ONLY : 0)
  } finally {
    closeSync(descriptor)
  }
}

/** Opening a FIFO would otherwise wait for another process. Windows has no such flag. */
const WITHOUT_WAITING: number = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** Runs a system call on the file. @throws an error of the class that names the file, if the call fails. */
function attemptOn<Result>(path: string, Class: typeof LoadError, action: string, run: () => Result): Result {
  try {
    return run()
  } catch (cause) {
    const reason = cause instanceof TenonError ? cause.sentence : (cause as Error).message
    throw new Class(`the file ${path} could not be ${action}: ${reason}`, { cause, details: { path } })
  }
}

function sizeFor(descriptor: number, path: string, access: Access, offset: number, wanted: number | undefined): number {
  const info = fstatSync(descriptor)
  if (!info.isFile()) {
    const received = info.isDirectory() ? 'a directory' : info.isFIFO() ? 'a pipe' : 'a device'
    throw new LoadError(`${path} must be a file, got ${received}`, { details: { path, expected: 'a file', received } })
  }
  const size = wanted ?? Math.max(info.size - offset, 0)
  const end = checkSize(offset + size, 'byteOffset + byteSize')
  if (end <= info.size) return size
  // A file grows only to an explicit size. Without one, an offset behind the end leaves nothing to map.
  if (access !== 'write' || wanted === undefined) {
    throw new ArgumentRangeError(`the file ${path} must have ${end} bytes, got ${info.size}`, {
      details: { path, expected: end, received: info.size },
    })
  }
  attemptOn(path, NativeError, `grown to ${end} bytes`, () => grow(descriptor, info.size, end))
  return size
}

/** Makes a file larger, with room on its file system, because a write to a mapped page cannot report that there is none. */
function grow(descriptor: number, from: number, to: number): void {
  ftruncateSync(descriptor, to)
  try {
    reserveRoom(descriptor, from, to - from)
  } catch (error) {
    ftruncateSync(descriptor, from)
    throw error
  }
}

const NOTHING = (): void => {}

function emptyBlock(owner: ResourceScope): Block {
  const { view, bytes, address } = newChunk(0, 1)
  return new Block(owner.gate, view, bytes, address)
}

/** Gives a mapping to an owner. */
function blockOver(file: MappedFile | undefined, access: Access, owner: ResourceScope): Block {
  const block = file === undefined ? emptyBlock(owner) : Block.ofPart(owner.gate, file, 0, file.byteSize)
  const ending = { unmap: file?.unmap ?? NOTHING, lostWrites: file?.lostWrites }
  mappings.set(block, { file, access, ending, threads: undefined })
  if (owner instanceof ManagedScope) {
    owner.own(block, file?.byteSize ?? 0, file === undefined ? undefined : upkeepOf(file))
  } else if (file !== undefined) {
    owner.own(block)
    owner.addCloseAction(collector(ending))
  }
  return block
}

function upkeepOf(file: MappedFile): Upkeep {
  return { check: () => throwIfLost(file), free: file.unmap, retire: () => file.retire() }
}

function throwIfLost({ lostWrites }: MappedFile): void {
  const lost = lostWrites?.readNew()
  if (lost !== undefined) throw lost
}

/** Returns the end of a mapping whose buffer was collected. Nobody is there to catch an error, so lost writes are a warning. */
function collector(ending: Ending): () => void {
  return () => {
    const lost = ending.lostWrites?.readNew()
    if (lost !== undefined) process.emitWarning(lost)
    ending.unmap()
  }
}

/** Gives the mapping of a block to another owner. The caller takes it from the old one. @throws {ArgumentError} if threads have it. */
export function moveMapping(block: Block, owner: ResourceScope): Block {
  const { file, access, ending, threads } = mappings.get(block)!
  if (threads !== undefined) {
    throw new ArgumentError('a mapping that was shared with other threads cannot move', {
      hint: 'Move it before share(), or map the file again.',
    })
  }
  if (block.exposed) file?.detachViews()
  const moved = blockOver(file, access, owner)
  mappings.delete(block)
  ending.unmap = NOTHING
  ending.lostWrites = undefined
  return moved
}

/** Whether a block is that of a mapped file. */
export const isMappedBlock = (block: Block): boolean => mappings.has(block)

/**
 * Returns the mapping of a block for other threads. It is unmapped when this thread has collected it and no other thread has it.
 *
 * @returns undefined where the runtime cannot share native memory.
 */
export function threadsOfMapping(block: Block): SharedArrayBuffer | undefined {
  const mapping = mappings.get(block)!
  if (mapping.threads !== undefined) return mapping.threads
  if (mapping.file === undefined) return new SharedArrayBuffer(0)
  const { address, byteSize, endShared } = mapping.file
  const shared = shareMapping(address, byteSize)
  if (shared !== undefined) {
    mapping.ending.unmap = () => {
      endShared()
      shared.close()
    }
  }
  return (mapping.threads = shared?.buffer)
}

/** Uses the whole pages of a mapped segment. Close actions may do so too. Without a page, `use` is not called. */
function withPages<Result>(
  segment: Segment,
  use: (file: MappedFile, byteOffset: number, byteSize: number, access: Access) => Result,
): Result | undefined {
  const { block, base, byteSize } = segment
  const mapping = mappings.get(block)
  if (mapping === undefined) {
    throw new ArgumentError('only a mapped file can be loaded, unloaded and forced, got other memory', {
      hint: 'Map a file with MemorySegment.mapFile().',
    })
  }
  checkUsable(block)
  const { file, access } = mapping
  if (file === undefined || byteSize === 0) return undefined
  const first = base - (base % pageSize())
  return use(file, first, base + byteSize - first, access)
}

/** The methods of segments over mapped files. */
export abstract class MappedAccess extends AtomicAccess {
  /** Whether the segment is over a mapped file. */
  get isMapped(): boolean {
    return mappings.has(this.block)
  }

  /** Writes modified pages to the mapped file, and returns when they have been written. @throws {NativeError} if writes were lost, each time. */
  force(): void {
    withPages(this, (file, byteOffset, byteSize) => file.sync(byteOffset, byteSize))
  }

  /** Loads the pages of the mapped file into memory. */
  load(): void {
    withPages(this, (file, byteOffset, byteSize) => {
      file.advise(byteOffset, byteSize, true)
      // The system may ignore the advice. Reading a byte of each page loads it.
      const bytes = new DataView(file.buffer, byteOffset, byteSize)
      for (let offset = 0; offset < byteSize; offset += pageSize()) bytes.getUint8(offset)
    })
  }

  /** Whether all pages of the mapped file are in memory. */
  isLoaded(): boolean {
    const missing = withPages(this, (file, byteOffset, byteSize) => {
      return Math.ceil(byteSize / pageSize()) - file.residentPages(byteOffset, byteSize)
    })
    return (missing ?? 0) === 0
  }

  /** Lets the system reuse the memory of the mapped file's pages. @throws {NativeError} if writes were lost, as {@link force}. */
  unload(): void {
    withPages(this, (file, byteOffset, byteSize, access) => {
      if (access === 'copy') {
        throw new NativeError('a mapping with access copy cannot be unloaded, because it would lose its changes')
      }
      // Unloading forgets the pages that were lost.
      const lost = file.lostWrites?.read()
      if (lost !== undefined) throw lost
      file.advise(byteOffset, byteSize, false)
    })
  }
}

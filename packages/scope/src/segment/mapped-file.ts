import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { ArgumentError, ArgumentRangeError, LoadError, NativeError, type Segment } from '@tenon/core'
import {
  addressOf,
  Block,
  bufferOver,
  type CFunction,
  checkName,
  checkSize,
  checkStatus,
  checkUsable,
  coreFunction,
  describe,
  READ_ONLY,
} from '@tenon/core/internal'
import { checkOptions } from '../scope/check-options.ts'
import { type AnyScope, checkScope } from '../scope/check-scope.ts'
import { chunkIn, newChunk } from '../scope/chunk.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { MemorySegment } from './memory-segment.ts'

/** How a file is mapped. */
export interface MapOptions {
  /**
   * `read`, without it: the segment is read-only. `write`: what is written goes to the file, which is made and grown as
   * needed. `copy`: what is written stays in this process.
   */
  readonly access?: 'read' | 'write' | 'copy'
  /** Where to start in the file, in bytes: any number. */
  readonly byteOffset?: number
  /** How many bytes to map; without it, to the end of the file. */
  readonly byteSize?: number
}

/** A mapping of whole pages. */
interface Mapping {
  /** Where its first page is. */
  readonly address: number
  readonly byteSize: number
  readonly access: 'read' | 'write' | 'copy'
}

const SHARED = 1
/** A page that the file lost reads as zeros, where it would kill the process. */
const GUARDED = 2

interface Functions {
  readonly pageSize: number
  readonly open: CFunction
  readonly close: CFunction
  readonly sync: CFunction
  readonly advise: CFunction
  readonly resident: CFunction
}

let known: Functions | undefined

function functions(): Functions {
  const range = ['uintptr_t', 'uintptr_t'] as const
  return (known ??= {
    pageSize: Number(coreFunction('tn_page_size', 'uintptr_t', [])()),
    open: coreFunction('tn_mapping_open', 'int32_t', ['int32_t', 'uint64_t', 'uintptr_t', 'uint32_t', 'uintptr_t']),
    close: coreFunction('tn_mapping_close', 'int32_t', range),
    sync: coreFunction('tn_mapping_sync', 'int32_t', range),
    advise: coreFunction('tn_pages_advise', 'int32_t', [...range, 'int32_t']),
    resident: coreFunction('tn_pages_resident', 'int32_t', [...range, 'uintptr_t']),
  })
}

const mappings = new WeakMap<Block, Mapping>()

export function mappingOf(segment: Segment): Mapping | undefined {
  return mappings.get(segment.block)
}

/** Maps a file into a scope, which unmaps it at close. */
export function mapFile(path: string, scope: AnyScope, options: MapOptions = {}): MemorySegment {
  checkName(path, 'path')
  const owner = checkScope(scope)
  const { access = 'read', byteOffset = 0, byteSize } = checkOptions(options)
  if (access !== 'read' && access !== 'write' && access !== 'copy') {
    throw new ArgumentError(`access must be read, write or copy, got ${describe(access)}`)
  }
  const offset = checkSize(byteOffset, 'byteOffset')
  const wanted = byteSize === undefined ? undefined : checkSize(byteSize, 'byteSize')
  const descriptor = openFile(path, access)
  try {
    const size = sizeFor(descriptor, path, access, offset, wanted)
    const flags = access === 'read' ? READ_ONLY : 0
    const block = size === 0 ? emptyBlock(owner, access) : mapBlock(owner, descriptor, access, offset, size)
    return new MemorySegment(block, size === 0 ? 0 : offset % functions().pageSize, size, flags)
  } finally {
    closeSync(descriptor)
  }
}

function openFile(path: string, access: Mapping['access']): number {
  try {
    // A file that is there is opened as it is; one to write is made if it is not there.
    return openSync(path, access === 'write' ? 'a+' : 'r')
  } catch (cause) {
    throw new LoadError(`the file ${path} could not be opened: ${(cause as Error).message}`, {
      cause,
      details: { path },
    })
  }
}

function sizeFor(descriptor: number, path: string, access: string, offset: number, wanted: number | undefined): number {
  const info = fstatSync(descriptor)
  if (!info.isFile()) throw new LoadError(`${path} must be a file, it is a directory or device`, { details: { path } })
  const size = wanted ?? Math.max(info.size - offset, 0)
  const end = checkSize(offset + size, 'byteOffset + byteSize')
  if (end <= info.size) return size
  // Only who says how much to write grows the file: one that ends before the offset has no rest to map.
  if (access !== 'write' || wanted === undefined) {
    throw new ArgumentRangeError(`the file ${path} must have ${end} bytes, it has ${info.size}`, {
      details: { path, byteOffset: offset, byteSize: size, available: info.size },
    })
  }
  try {
    ftruncateSync(descriptor, end)
  } catch (cause) {
    throw new NativeError(`the file ${path} could not be grown to ${end} bytes: ${(cause as Error).message}`, {
      cause,
      details: { path, byteSize: end },
    })
  }
  return size
}

function emptyBlock(owner: AnyScope, access: Mapping['access']): Block {
  const { view, bytes, address } = newChunk(0, 1)
  const block = new Block(owner.gate, view, bytes, address)
  if (owner instanceof ManagedScope) owner.own(block, 0)
  mappings.set(block, { address: 0, byteSize: 0, access })
  return block
}

/** A block over a mapping, which is unmapped if there can be none. */
function blockOver(owner: AnyScope, address: number, byteSize: number, unmap: () => void): Block {
  try {
    const { view, bytes } = chunkIn(bufferOver(address, byteSize), 0, byteSize, address)
    return new Block(owner.gate, view, bytes, address)
  } catch (error) {
    unmap()
    throw error
  }
}

function mapBlock(owner: AnyScope, descriptor: number, access: Mapping['access'], offset: number, size: number): Block {
  const { pageSize, open, close } = functions()
  const start = offset - (offset % pageSize)
  const byteSize = offset + size - start
  const out = new BigUint64Array(1)
  const flags = GUARDED | (access === 'write' ? SHARED : 0)
  checkStatus(Number(open(descriptor, start, byteSize, flags, addressOf(out))), 'mapping a file')
  const address = Number(out[0])
  const unmap = (): void => checkStatus(Number(close(address, byteSize)), 'unmapping a file')
  const block = blockOver(owner, address, byteSize, unmap)
  if (owner instanceof ManagedScope) {
    owner.own(block, byteSize, { free: unmap })
  } else {
    owner.own(block)
    owner.addCloseAction(unmap)
  }
  mappings.set(block, { address, byteSize, access })
  return block
}

/** The whole pages of a mapped segment, while they are used: the scope stays open. */
function withPages<Result>(
  segment: Segment,
  use: (address: number, byteSize: number, mapping: Mapping) => Result,
): Result {
  const mapping = mappingOf(segment)
  if (mapping === undefined) {
    throw new ArgumentError('only a mapped file can be loaded, unloaded and forced, this is other memory', {
      hint: 'MemorySegment.mapFile() maps one.',
    })
  }
  checkUsable(segment.block)
  const first = segment.base - (segment.base % functions().pageSize)
  const { gate } = segment.block
  gate.enter()
  try {
    return use(mapping.address + first, segment.base + segment.byteSize - first, mapping)
  } finally {
    gate.exit()
  }
}

export function forceMapped(segment: Segment): void {
  withPages(segment, (address, byteSize) => {
    if (byteSize > 0) checkStatus(Number(functions().sync(address, byteSize)), 'writing a mapped file')
  })
}

export function loadMapped(segment: Segment): void {
  withPages(segment, (address, byteSize) => {
    if (byteSize === 0) return
    const { advise, pageSize } = functions()
    checkStatus(Number(advise(address, byteSize, 1)), 'loading a mapped file')
    // Advice is only that: touching brings the page in.
    const { block, base } = segment
    for (let offset = 0; offset < segment.byteSize; offset += pageSize) block.view.getUint8(base + offset)
    block.view.getUint8(base + segment.byteSize - 1)
  })
}

export function isLoadedMapped(segment: Segment): boolean {
  return withPages(segment, (address, byteSize) => {
    if (byteSize === 0) return true
    const out = new BigUint64Array(1)
    const { resident, pageSize } = functions()
    checkStatus(Number(resident(address, byteSize, addressOf(out))), 'looking up a mapped file')
    return Number(out[0]) === Math.ceil(byteSize / pageSize)
  })
}

export function unloadMapped(segment: Segment): void {
  withPages(segment, (address, byteSize, { access }) => {
    if (access === 'copy') {
      throw new NativeError('a mapping with access copy can not be unloaded: it would lose its changes')
    }
    if (byteSize > 0) checkStatus(Number(functions().advise(address, byteSize, 0)), 'unloading a mapped file')
  })
}

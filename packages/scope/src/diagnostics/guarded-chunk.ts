import { readFileSync } from 'node:fs'
import { AllocationError, NativeError } from '@tenon/core'
import {
  addressOf,
  bufferOver,
  checkStatus,
  coreFunction,
  keepAlive,
  lastError,
  type CFunction,
} from '@tenon/core/internal'
import { type Chunk, chunkIn, newSharedChunk } from '../scope/chunk.ts'

/** A chunk whose surroundings are watched. */
export interface WatchedChunk extends Chunk {
  /** Whether something was written around it, which no protected page sees. @throws {NativeError} */
  readonly check: () => void
}

/** A chunk on pages of its own, which end at a protected page. */
export interface GuardedChunk extends WatchedChunk {
  /** Protects the pages, and unmaps those that were freed long ago. */
  readonly free: () => void
}

interface Functions {
  readonly pageSize: number
  readonly open: CFunction
  readonly protect: CFunction
  readonly close: CFunction
  readonly add: CFunction
  readonly remove: CFunction
}

let known: Functions | undefined

function functions(): Functions {
  const range = ['uintptr_t', 'uintptr_t'] as const
  return (known ??= {
    pageSize: Number(coreFunction('tn_page_size', 'uintptr_t', [])()),
    open: coreFunction('tn_pages_open', 'int32_t', range),
    protect: coreFunction('tn_pages_protect', 'int32_t', range),
    close: coreFunction('tn_pages_close', 'int32_t', range),
    add: coreFunction('tn_guard_report_add', 'int32_t', [...range, ...range, ...range]),
    remove: coreFunction('tn_guard_report_remove', 'void', ['uintptr_t']),
  })
}

/** What stands around the bytes of a chunk. */
const CANARY = 0xa7

/** How much is watched on both sides of shared memory, in bytes. */
const MARGIN = 128

/** How many freed blocks stay protected, to catch whoever still uses them. */
const QUARANTINE = 1024

/** How many blocks a process can have: each takes two mappings, and a quarter is left to everybody else. */
const mostBlocks = Math.floor((mostMappings() * 3) / 8)
let blocks = 0

/** How many mappings the system lets a process have. */
function mostMappings(): number {
  try {
    return Number(readFileSync('/proc/sys/vm/max_map_count', 'utf8'))
  } catch {
    return 65_530
  }
}

const quarantine: { address: number; byteSize: number }[] = []

/**
 * Zeroed memory whose end is as near to a protected page as the alignment lets it be; `name` is for the report of a
 * crash.
 */
export function newGuardedChunk(byteSize: number, byteAlignment: number, name: string): GuardedChunk {
  const { pageSize, open, add } = functions()
  const size = Math.max(byteSize, 1)
  const gap = Math.max(byteAlignment - pageSize, 0)
  const room = Math.ceil((size + gap) / pageSize) * pageSize
  const out = new BigUint64Array(1)
  const isFull = blocks >= mostBlocks
  if (isFull || Number(open(room, addressOf(out))) !== 0) {
    const reason = isFull ? `the process has ${blocks} guarded blocks already` : lastError()
    throw new AllocationError(`${byteSize} guarded bytes could not be allocated: ${reason}`, {
      hint: 'guard mode takes two mappings for each allocation: raise vm.max_map_count, or guard less.',
      details: { byteSize, byteAlignment },
    })
  }
  blocks++
  const address = Number(out[0])
  const last = room - size
  const start = last - ((address + last) % byteAlignment)
  const label = Buffer.from(name)
  checkStatus(Number(add(address, room, start, byteSize, addressOf(label), label.length)), 'naming a guarded block')
  keepAlive(label)
  const buffer = bufferOver(address, room)
  const chunk = chunkIn(buffer, start, size, address + start)
  return { ...chunk, check: watch(chunk, byteSize, name), free: () => retire(address, room) }
}

/**
 * Shared memory can't lie on protected pages: only what is written next to it is seen, when the handle that allocated it
 * closes.
 */
export function newWatchedSharedChunk(byteSize: number, byteAlignment: number, name: string): WatchedChunk {
  const chunk = newSharedChunk(byteSize, byteAlignment, MARGIN)
  return { ...chunk, check: watch(chunk, byteSize, name) }
}

/** Fills what is around a chunk in its buffer; the returned function looks whether it still is as it was. */
function watch({ view, size }: Chunk, byteSize: number, name: string): () => void {
  const { buffer, byteOffset } = view
  const before = new Uint8Array(buffer, 0, byteOffset).fill(CANARY)
  const behind = new Uint8Array(buffer, byteOffset + size).fill(CANARY)
  return () => {
    const [early, late] = [changed(before), changed(behind)]
    if (early === 0 && late === 0) return
    throw new NativeError(
      `native code wrote outside a segment of ${byteSize} bytes of ${name}: ${early} bytes before it, ${late} behind it`,
      { hint: 'look at the calls that were given this segment.', details: { before: early, behind: late } },
    )
  }
}

const changed = (bytes: Uint8Array): number => bytes.reduce((count, byte) => (byte === CANARY ? count : count + 1), 0)

function retire(address: number, byteSize: number): void {
  const { protect, close, remove } = functions()
  checkStatus(Number(protect(address, byteSize)), 'protecting freed memory')
  quarantine.push({ address, byteSize })
  if (quarantine.length <= QUARANTINE) return
  const oldest = quarantine.shift()!
  blocks--
  remove(oldest.address)
  checkStatus(Number(close(oldest.address, oldest.byteSize)), 'unmapping freed memory')
}

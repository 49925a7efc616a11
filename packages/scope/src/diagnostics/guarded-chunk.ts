import { readFileSync } from 'node:fs'
import { AllocationError, NativeError } from '@tenon/core'
import { addressOf, bufferOver, checkStatus, coreFunctions, keepAlive, lastError, pageSize } from '@tenon/core/internal'
import { type Chunk, chunkIn, newSharedChunk, type Upkeep } from '../scope/chunk.ts'

const CANARY = 0xa7

/** The number of bytes that are checked on both sides of shared memory. */
const MARGIN = 128

/** The number of freed blocks that stay protected, so that later uses of them fault. */
const QUARANTINE = 1024

/** The limit of guarded blocks. Each takes two mappings, and a quarter of all mappings is left to other users. */
const mostBlocks = Math.floor((mostMappings() * 3) / 8)
let blocks = 0

function mostMappings(): number {
  try {
    return Number(readFileSync('/proc/sys/vm/max_map_count', 'utf8'))
  } catch {
    return 65_530
  }
}

const quarantine: { address: number; byteSize: number }[] = []

/** Allocates zeroed memory that ends as close to a protected page as its alignment allows. A crash report has `name`. */
export function newGuardedChunk(byteSize: number, byteAlignment: number, name: string): Chunk & Upkeep {
  const { tn_pages_open: open, tn_guard_report_add: add } = coreFunctions()
  const size = Math.max(byteSize, 1)
  const gap = Math.max(byteAlignment - pageSize(), 0)
  const room = Math.ceil((size + gap) / pageSize()) * pageSize()
  const out = new BigUint64Array(1)
  const isFull = blocks >= mostBlocks
  if (isFull || open(room, addressOf(out)) !== 0) {
    const reason = isFull ? `the process has ${blocks} guarded blocks already` : lastError()
    throw new AllocationError(`${byteSize} guarded bytes could not be allocated: ${reason}`, {
      hint: 'Raise vm.max_map_count, because guard mode takes two mappings for each allocation, or allocate less.',
      details: { byteSize, byteAlignment },
    })
  }
  blocks++
  const address = Number(out[0])
  const last = room - size
  const start = last - ((address + last) % byteAlignment)
  const label = Buffer.from(name)
  checkStatus(add(address, room, start, byteSize, addressOf(label), label.length), 'naming a guarded block')
  keepAlive(label)
  const buffer = bufferOver(address, room)
  const chunk = chunkIn(buffer, start, size, address + start)
  return { ...chunk, check: watch(chunk, byteSize, name), free: () => retire(address, room) }
}

/** Shared memory cannot lie on protected pages. The handle that allocated it detects writes next to it at close. */
export function newWatchedSharedChunk(byteSize: number, byteAlignment: number, name: string): Chunk & Upkeep {
  const chunk = newSharedChunk(byteSize, byteAlignment, MARGIN)
  return { ...chunk, check: watch(chunk, byteSize, name) }
}

/** Fills the bytes around a chunk. @returns a function that checks whether they are unchanged. */
function watch({ view, size }: Chunk, byteSize: number, name: string): () => void {
  const { buffer, byteOffset } = view
  const before = new Uint8Array(buffer, 0, byteOffset).fill(CANARY)
  const after = new Uint8Array(buffer, byteOffset + size).fill(CANARY)
  return () => {
    const [early, late] = [changed(before), changed(after)]
    if (early === 0 && late === 0) return
    throw new NativeError(
      `native code wrote outside a segment of ${byteSize} bytes of ${name}: ${early} bytes before it, ${late} bytes after it`,
      { hint: 'Check the calls that this segment was passed to.', details: { before: early, after: late } },
    )
  }
}

const changed = (bytes: Uint8Array): number => bytes.reduce((count, byte) => (byte === CANARY ? count : count + 1), 0)

/** Protects freed pages, and unmaps those that were freed long ago. */
function retire(address: number, byteSize: number): void {
  const { tn_pages_protect: protect, tn_pages_close: close, tn_guard_report_remove: remove } = coreFunctions()
  checkStatus(protect(address, byteSize), 'protecting freed memory')
  quarantine.push({ address, byteSize })
  if (quarantine.length <= QUARANTINE) return
  const oldest = quarantine.shift()!
  blocks--
  remove(oldest.address)
  checkStatus(close(oldest.address, oldest.byteSize), 'unmapping freed memory')
}

import { NativeError, UnsupportedError } from '../errors/kinds.ts'
import { bufferOver } from '../native/call/buffer-over.ts'
import { coreFunctions, coreLibrary, lastError } from '../native/core-library.ts'
import { addressOf, keepAlive } from '../native/native-memory.ts'
import { isDetached } from './array-buffer.ts'
import { Cleaner } from './cleaner.ts'
import { mostMappings } from './mapped-file.ts'

/** The bytes beside memory that native code has changed. Counts of 0 have distances of 0. */
export interface Damage {
  /** The number of changed bytes before the memory. */
  readonly before: number
  /** The distance in bytes of the first of them from the start of the memory. */
  readonly distance: number
  /** The number of changed bytes behind the memory. */
  readonly behind: number
  /** The distance in bytes of the first of them from the end of the memory. */
  readonly gap: number
}

/** The guard of one allocation. */
export interface Guard {
  /** The address of the first byte of the memory. */
  readonly address: number
  /** The size of the memory in bytes. */
  readonly byteSize: number
  /** Finds the changed bytes beside the memory, and restores them, so that each damage is found once. */
  find(): Damage | undefined
}

const guards = new WeakMap<ArrayBufferLike, Guard>()

/** Returns the guard of the allocation that a buffer belongs to. */
export function guardOf(buffer: ArrayBufferLike): Guard | undefined {
  return guards.get(buffer)
}

/** Lets calls check the memory of a buffer. */
export function addGuard(buffer: ArrayBufferLike, guard: Guard): void {
  guards.set(buffer, guard)
}

/** Memory that ends at a protected page. */
export interface GuardedMemory {
  readonly buffer: ArrayBuffer
  readonly address: number
  readonly guard: Guard
  /** Makes later uses of the memory fault. It does not refer to the buffer, which must be detached before. */
  readonly free: () => void
}

/** Guarded memory takes two mappings for each block. A quarter of all mappings is left to other users. */
const mostBlocks = (): number => Math.floor((mostMappings() * 3) / 4)

/** @param name what the memory belongs to, for the report of a crash. */
function open(byteSize: number, byteAlignment: number, name: string): { handle: number; address: number } {
  const out = new BigUint64Array(2)
  const label = Buffer.from(name)
  const { tn_guarded_open: openBlock } = coreFunctions()
  const status = openBlock(byteSize, byteAlignment, mostBlocks(), addressOf(label), label.length, addressOf(out))
  keepAlive(label)
  if (status !== 0) throw new NativeError(lastError())
  return { handle: Number(out[0]), address: Number(out[1]) }
}

let isWarned = false

/**
 * Allocates guarded memory, which is zeroed. Its buffer has at least one byte.
 *
 * @param isCollected whether the garbage collector frees the memory with the buffer. Otherwise the caller calls `free`.
 * @returns undefined if the system has no mapping left, or the runtime does not support such buffers. A warning, once, says
 * that memory is unguarded.
 */
export function newGuardedMemory(
  byteSize: number,
  byteAlignment: number,
  name: string,
  isCollected: boolean,
): GuardedMemory | undefined {
  try {
    const { handle, address } = open(byteSize, byteAlignment, name)
    const buffer = bufferOf(handle, address, Math.max(byteSize, 1), isCollected)
    const guard: Guard = { address, byteSize, find: () => (isDetached(buffer) ? undefined : findIn(handle)) }
    addGuard(buffer, guard)
    return { buffer, address, guard, free: freeing(handle) }
  } catch (error) {
    if (!(error instanceof NativeError || error instanceof UnsupportedError)) throw error
    if (!isWarned) warnUnguarded(error.sentence)
    return undefined
  }
}

/** A function of its own, because closures of one function keep the variables of all of them, and so the buffer. */
function freeing(handle: number): () => void {
  return () => coreFunctions().tn_guarded_free(handle)
}

function bufferOf(handle: number, address: number, byteSize: number, isCollected: boolean): ArrayBuffer {
  try {
    const buffer = bufferOver(address, byteSize, isCollected ? handle : undefined)
    if (isCollected && coreLibrary().driver.kind === 'koffi') collected.watch(buffer, handle)
    return buffer
  } catch (error) {
    coreFunctions().tn_guarded_free(handle)
    throw error
  }
}

/** For koffi, whose buffers free nothing. A user who transfers the buffer has no memory when the first one is collected. */
const collected = new Cleaner<number>((handle) => coreFunctions().tn_guarded_free(handle))

const found = new BigUint64Array(4)

function findIn(handle: number): Damage | undefined {
  coreFunctions().tn_guarded_check(handle, addressOf(found))
  const [before, distance, behind, gap] = Array.from(found, Number) as [number, number, number, number]
  return before + behind === 0 ? undefined : { before, distance, behind, gap }
}

function warnUnguarded(reason: string): void {
  isWarned = true
  process.emitWarning(`memory is unguarded from now on where it cannot be guarded: ${reason}`, {
    type: 'TenonWarning',
    code: 'TENON_UNGUARDED',
    detail:
      'TENON_DEBUG=guard takes two mappings for each allocation. Raise vm.max_map_count, or close scopes and let the garbage ' +
      'collector run between allocations.',
  })
}

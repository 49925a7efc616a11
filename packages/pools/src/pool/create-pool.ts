import { closeSync, constants, openSync } from 'node:fs'
import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkName, checkSize, describe } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import {
  createSharedMemory,
  describeDescriptor,
  duplicateDescriptor,
  sealDescriptor,
  seals,
} from '../native/descriptor.ts'
import { importPool } from './import-pool.ts'
import { type Pool, POOL_MAXIMUM } from './pool.ts'
import type { PoolRights } from './pool-facts.ts'

/** How a pool is called and what it stands for. */
export interface PoolOptions {
  /** Appears in messages, and in `/proc` as the name of the memory. */
  readonly label?: string
  /** `shared` without it. A `device-blob` is emulated with shared memory: this system's hardware buffers aren't used. */
  readonly kind?: 'shared' | 'device-blob'
}

/**
 * Creates zeroed memory that can be shared with a driver: a sealed memfd, whose size nobody can change any more.
 *
 * @param byteSize from 1 to 2^32 - 1.
 * @returns a pool that the caller closes.
 * @throws {ArgumentRangeError} if the size isn't valid. @throws {PoolsError} if there is no memory.
 * @example
 * using pool = createPool(4096, { label: 'activations' })
 * pool.byteSize // 4096
 */
export function createPool(byteSize: number, options: PoolOptions = {}): Pool<'writable'> {
  const { label = '', kind = 'shared' } = options
  const size = checkPoolSize(byteSize)
  if (kind !== 'shared' && kind !== 'device-blob')
    throw new ArgumentError(`kind must be 'shared' or 'device-blob', got ${describe(kind)}`)
  return adopt(
    createSharedMemory(size, label),
    (descriptor) => importPool({ kind, descriptor, byteSize: size, label, keep: true }) as Pool<'writable'>,
  )
}

/**
 * Creates memory with contents that nobody can ever change: what constants of models are used from in place.
 *
 * @param contents copied once.
 * @example
 * using weights = createFrozenPool(new Float32Array([0.5, 1.5]))
 * weights.rights // 'frozen'
 */
export function createFrozenPool(contents: ArrayBufferView | ArrayBuffer, options: PoolOptions = {}): Pool<'frozen'> {
  const pool = createPool(contents.byteLength, options)
  try {
    pool.write(0, contents)
    return freezePool(pool)
  } finally {
    pool[Symbol.dispose]()
  }
}

/**
 * Turns a pool into one that nobody can change any more, with the same memory. The writable pool is closed.
 *
 * @throws {ScopeHeldError} if calls use it; it stays open. @throws {PoolsError} if another process has it mapped: freeze
 * before a driver sees it.
 */
export function freezePool(pool: Pool<'writable'>): Pool<'frozen'> {
  const { kind, byteSize } = pool
  return adopt(duplicate(pool), (descriptor) => {
    pool.close()
    sealDescriptor(descriptor, seals.WRITE | seals.SEAL)
    return importPool({ kind, descriptor, byteSize, label: '', keep: true }) as Pool<'frozen'>
  })
}

/**
 * The same memory for readers alone: whoever gets the new pool can't write, by the kernel's word, while this pool still can.
 * From now on nobody can map the memory writable again, so send `pool` to drivers before.
 *
 * @returns a second pool that the caller closes.
 */
export function shareReadOnly(pool: Pool<'writable'>): Pool<'read-only'> {
  const { kind, byteSize } = pool
  return adopt(duplicate(pool), (descriptor) => {
    sealDescriptor(descriptor, seals.FUTURE_WRITE)
    return importPool({ kind, descriptor, byteSize, label: '', keep: true }) as Pool<'read-only'>
  })
}

/** Which part of a file is mapped, and what for. */
export interface FilePoolOptions<Access extends 'read' | 'read-write'> {
  /** `read` without it. */
  readonly access?: Access
  /** Where the pool starts in the file: a multiple of the page. 0 without it. */
  readonly byteOffset?: number
  /** In bytes; the rest of the file without it. */
  readonly byteSize?: number
  readonly label?: string
}

/**
 * Maps a file. If the file is truncated later, the lost bytes read as zeros and executions that use them fail; the process
 * lives on.
 *
 * @throws {PoolsError} if the file can't be opened or mapped. @throws {ArgumentRangeError} if it is empty or too large.
 * @example
 * using weights = openFilePool('weights.bin')
 * weights.rights // 'read-only'
 */
export function openFilePool<Access extends 'read' | 'read-write' = 'read'>(
  path: string,
  options: FilePoolOptions<Access> = {},
): Pool<Access extends 'read' ? 'read-only' : 'writable'> {
  const { access = 'read', byteOffset = 0, label = path } = options
  checkName(path, 'path')
  const offset = checkSize(byteOffset, 'byteOffset')
  let descriptor: number
  try {
    descriptor = openSync(path, access === 'read' ? constants.O_RDONLY : constants.O_RDWR)
  } catch (cause) {
    throw new PoolsError(
      'GENERAL_FAILURE',
      `the file ${describe(path)} could not be opened: ${(cause as Error).message}`,
      { cause },
    )
  }
  return adopt(descriptor, () => {
    const size = checkPoolSize(options.byteSize ?? describeDescriptor(descriptor).byteSize - offset)
    const isWritable = access !== 'read'
    return importPool({ kind: 'file', descriptor, byteSize: size, byteOffset: offset, isWritable, label, keep: true })
  }) as Pool<Access extends 'read' ? 'read-only' : 'writable'>
}

/** Runs `make`, which takes a descriptor over; closes the descriptor if it throws. */
function adopt<P extends Pool<PoolRights>>(descriptor: number, make: (descriptor: number) => P): P {
  try {
    return make(descriptor)
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

function duplicate(pool: Pool<'writable'>): number {
  pool.checkAlive()
  if (pool.kind === 'file' || pool.descriptor === undefined) {
    throw new PoolsError('INVALID_ARGUMENT', 'only a pool of shared memory can be sealed, not a file')
  }
  return duplicateDescriptor(pool.descriptor)
}

function checkPoolSize(byteSize: unknown): number {
  const size = checkSize(byteSize, 'byteSize')
  if (size >= 1 && size <= POOL_MAXIMUM) return size
  throw new ArgumentRangeError(`byteSize must be from 1 to ${POOL_MAXIMUM} bytes, got ${describe(byteSize)}`)
}

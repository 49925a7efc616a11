import { ArgumentRangeError, type Tensor, UnsupportedError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { platform } from '../native/platform.ts'
import { byteCount } from './byte-count.ts'
import type { MemoryBacking } from './memory-backing.ts'
import type { ExportPlace } from './memory-export.ts'

/** The smallest chunk, and the smallest limit, in bytes. */
const LEAST_CHUNK = 2 ** 20

const USUAL_CHUNK = 2 ** 26

/** The options of {@link SharedMemory.open}. Sizes are numbers of bytes, or texts such as `'64 MiB'`. */
export interface SharedMemoryOptions {
  /**
   * The size of the chunks in which the memory grows: a power of two from 1 MiB, by default 64 MiB. A larger tensor gets a chunk of
   * its own. Pages without contents take no memory.
   */
  readonly chunk?: number | string
  /** The most bytes of all chunks together, from 1 MiB; by default half of the memory of the machine, or of the container. */
  readonly limit?: number | string
  /** The name of the memory in messages and in `/proc`. */
  readonly label?: string
  /**
   * Whether each allocation has pages of its own and ends at the end of the last one, so that the guard mode of isolated libraries
   * finds each byte that is used beyond it. By default false.
   */
  readonly guard?: boolean
  /**
   * By default `memfd`: memory without a name that nobody can make smaller. `shm` is a file in `/dev/shm` for programs that need one. It
   * has one chunk of the size `limit`, whose memory is reserved when it is opened, can be neither sealed nor posted, and is removed when
   * the memory is closed.
   */
  readonly backing?: MemoryBacking
  /** The name of the file in `/dev/shm`: 1 to 64 letters, digits, dots, dashes and underlines. */
  readonly name?: string
}

/** The options of {@link SharedMemory.arena}. */
export interface ArenaOptions {
  /** The size of the first block, a number of bytes or a text; by default 64 KiB. Later blocks are larger. */
  readonly byteSize?: number | string
}

/** The memory that a {@link SharedMemory} uses, in bytes. */
export interface MemoryUsage {
  readonly chunks: number
  /** The bytes of all chunks. Only pages with contents take memory of the machine. */
  readonly byteSize: number
  /** The bytes that tensors, arenas and calls have. */
  readonly usedBytes: number
  readonly limit: number
}

/** The options of {@link SharedMemory.handle}. */
export interface HandleOptions {
  /** Tensors of the memory that the receiver finds by name. The caller keeps them alive as long as the receiver uses them. */
  readonly tensors?: Readonly<Record<string, Tensor>>
}

/** The options of {@link SharedMemory.export}. */
export interface ExportOptions extends HandleOptions, ExportPlace {}

/** @throws {UnsupportedError} where processes cannot share memory, or the runtime forbids views of it. */
export function checkSystem(): void {
  if (!platform.sharesDescriptors()) {
    throw new UnsupportedError(`shared memory needs Linux or macOS, got ${process.platform}`, {
      hint: 'Use createPool(), whose memory threads of one process share.',
    })
  }
  if (platform.hasViews()) return
  throw new UnsupportedError(
    'shared memory needs views of native memory, which this runtime forbids, as Electron does',
    {
      hint: 'In Electron, use pools, whose read() and write() copy, or start a process of plain Node.js.',
    },
  )
}

/** Half of the memory of the machine, or of the container. */
export function usualLimit(): number {
  const constrained = process.constrainedMemory()
  const { totalmem } = process.getBuiltinModule('node:os')
  const memory = constrained > 0 ? Math.min(totalmem(), constrained) : totalmem()
  return Math.max(Math.floor(memory / 2), LEAST_CHUNK)
}

/** @throws {ArgumentError | ArgumentRangeError} */
export function byteLimit(value: unknown): number {
  const bytes = value === Infinity ? Number.MAX_SAFE_INTEGER : byteCount(value, 'limit')
  if (bytes >= LEAST_CHUNK) return bytes
  throw new ArgumentRangeError(`limit must be at least 1 MiB (${LEAST_CHUNK} bytes), got ${describe(value)}`)
}

/** @param limit the limit, from which the default is taken. @throws {ArgumentError | ArgumentRangeError} */
export function chunkSize(value: unknown, limit: number): number {
  if (value === undefined) return Math.min(USUAL_CHUNK, 2 ** Math.floor(Math.log2(limit)))
  const bytes = byteCount(value, 'chunk')
  if (bytes < LEAST_CHUNK || !Number.isInteger(Math.log2(bytes)))
    throw new ArgumentRangeError(
      `chunk must be a power of two from 1 MiB (${LEAST_CHUNK} bytes), got ${describe(value)}`,
    )
  if (bytes > limit) throw new ArgumentRangeError(`limit must be at least the ${bytes} bytes of a chunk, got ${limit}`)
  return bytes
}

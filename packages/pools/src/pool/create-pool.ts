import { constants, openSync } from 'node:fs'
import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkName, checkSize, describe } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import {
  createDmaBuf,
  createSharedMemory,
  describeDescriptor,
  duplicateDescriptor,
  sealDescriptor,
  seals,
} from '../native/descriptor.ts'
import { type Attachment, closeAttachment } from '../native/link.ts'
import { hasSeals, sharesDescriptors } from '../native/platform.ts'
import {
  type BufferFormat,
  bufferFormats,
  bufferUsage,
  checkBufferDescription,
  memorySize,
  strideOf,
} from './buffer-description.ts'
import type { ImagePool } from './image-pool.ts'
import { importPool } from './import-pool.ts'
import { type Pool, POOL_MAXIMUM } from './pool.ts'
import type { PoolRights } from './pool-facts.ts'

/** How a pool is called and what it stands for. */
export interface PoolOptions {
  /** Appears in messages, and in `/proc` as the name of the memory. */
  readonly label?: string
  /**
   * `shared` without it. A `device-blob` is a dma-buf where the system gives one (`/dev/udmabuf`, `/dev/dma_heap/system`), and
   * emulated with shared memory elsewhere: its `backing` says which.
   */
  readonly kind?: 'shared' | 'device-blob'
}

/**
 * Creates zeroed memory that can be shared with a driver, whose size nobody can change any more: a sealed memfd on Linux,
 * memory of `shm_open` on macOS. Elsewhere it is memory of this process, for drivers in it and in its worker threads.
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
    createMemory(size, label, kind !== 'shared'),
    (attachment) => importPool({ kind, attachment, byteSize: size, label, keep: true }) as Pool<'writable'>,
  )
}

/** What an image is like. */
export interface ImageOptions {
  /** In pixels. */
  readonly width: number
  readonly height: number
  /** 1 without it. */
  readonly layers?: number
  /** One with rows of pixels. */
  readonly format: BufferFormat
  readonly label?: string
}

/**
 * Creates a hardware buffer with rows of pixels, all 0, whose stride is chosen here: rows start at multiples of 64 bytes. It is
 * a dma-buf where the system gives one, and emulated elsewhere: `backing` says which.
 *
 * @throws {PoolsError} P11, P12 for what can't be an image. @throws {PoolsError} if there is no memory.
 * @example
 * using image = createImagePool({ width: 640, height: 480, format: 'R8G8B8A8_UNORM' })
 * image.description.stride // 640
 */
export function createImagePool(options: ImageOptions): ImagePool<'writable'> {
  const { width, height, layers = 1, format, label = '' } = options
  if (!Object.hasOwn(bufferFormats, format) || bufferFormats[format].pixelSize === 0 || format === 'BLOB')
    throw new ArgumentError(`format must be one with rows of pixels, got ${describe(format)}`)
  const { CPU_READ_OFTEN, CPU_WRITE_OFTEN } = bufferUsage
  const usage = CPU_READ_OFTEN | CPU_WRITE_OFTEN
  const stride = strideOf(checkSize(width, 'width'), bufferFormats[format].pixelSize)
  const image = { width, height, layers, format, usage, stride }
  checkBufferDescription(image)
  const size = checkPoolSize(memorySize(image))
  return adopt(
    createMemory(size, label, true),
    (attachment) =>
      importPool({ kind: 'device-image', attachment, byteSize: 0, image, label, keep: true }) as ImagePool<'writable'>,
  )
}

/** New memory: of a device if that is wanted and there is any. */
function createMemory(byteSize: number, label: string, isOfDevice: boolean): Attachment {
  if (sharesDescriptors())
    return (isOfDevice ? createDmaBuf(byteSize) : undefined) ?? createSharedMemory(byteSize, label)
  try {
    return new SharedArrayBuffer(byteSize)
  } catch (cause) {
    throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `no memory for a pool of ${byteSize} bytes`, { cause })
  }
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
 * Turns a pool into one that nobody can change any more, with the same memory. The writable pool is closed. On Linux that is
 * the kernel's word; elsewhere it is this library's.
 *
 * @throws {ScopeHeldError} if calls use it; it stays open. @throws {PoolsError} if another process has it mapped: freeze
 * before a driver sees it.
 */
export function freezePool(pool: Pool<'writable'>): Pool<'frozen'> {
  const { kind, byteSize } = pool
  return adopt(duplicate(pool), (attachment) => {
    pool.close()
    if (hasSeals() && typeof attachment === 'number') sealDescriptor(attachment, seals.WRITE | seals.SEAL)
    return importPool({ kind, attachment, byteSize, label: '', isFrozen: true, keep: true }) as Pool<'frozen'>
  })
}

/**
 * The same memory for readers alone: whoever gets the new pool can't write, by the kernel's word on Linux, while this pool
 * still can. From now on nobody can map the memory writable again, so send `pool` to drivers before.
 *
 * @returns a second pool that the caller closes.
 */
export function shareReadOnly(pool: Pool<'writable'>): Pool<'read-only'> {
  const { kind, byteSize } = pool
  return adopt(duplicate(pool), (attachment) => {
    if (hasSeals() && typeof attachment === 'number') sealDescriptor(attachment, seals.FUTURE_WRITE)
    return importPool({ kind, attachment, byteSize, label: '', isWritable: false, keep: true }) as Pool<'read-only'>
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
  if (!sharesDescriptors())
    throw new PoolsError('GENERAL_FAILURE', `files can't be mapped on ${process.platform}`, {
      hint: 'read the file, and give its bytes to createFrozenPool.',
    })
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
    return importPool({
      kind: 'file',
      attachment: descriptor,
      byteSize: size,
      byteOffset: offset,
      isWritable,
      label,
      keep: true,
    })
  }) as Pool<Access extends 'read' ? 'read-only' : 'writable'>
}

/** Runs `make`, which takes memory over; closes it if that throws. */
function adopt<P extends Pool<PoolRights>>(attachment: Attachment, make: (attachment: Attachment) => P): P {
  try {
    return make(attachment)
  } catch (error) {
    closeAttachment(attachment)
    throw error
  }
}

function duplicate(pool: Pool<'writable'>): Attachment {
  pool.checkAlive()
  const { kind, backing, attachment } = pool
  if (kind === 'file' || kind === 'device-image' || backing === 'dma-buf' || attachment === undefined) {
    throw new PoolsError(
      'INVALID_ARGUMENT',
      'only linear shared memory can be sealed, not a file, an image or memory of a device',
    )
  }
  return typeof attachment === 'number' ? duplicateDescriptor(attachment) : attachment
}

function checkPoolSize(byteSize: unknown): number {
  const size = checkSize(byteSize, 'byteSize')
  if (size >= 1 && size <= POOL_MAXIMUM) return size
  throw new ArgumentRangeError(`byteSize must be from 1 to ${POOL_MAXIMUM} bytes, got ${describe(byteSize)}`)
}

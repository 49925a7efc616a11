import { constants } from 'node:fs'
import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkName, checkOptions, checkSize, describe, wrongType } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import {
  createDmaBuf,
  createSharedMemory,
  describeDescriptor,
  duplicateDescriptor,
  openFile,
  sealDescriptor,
  seals,
} from './descriptor.ts'
import { type Attachment, closeAttachment } from './attachment.ts'
import { platform } from '../native/platform.ts'
import {
  type BufferFormat,
  bufferFormats,
  bufferUsage,
  checkBufferDescription,
  memorySize,
  strideOf,
} from './buffer-description.ts'
import type { ImagePool } from './image-pool.ts'
import { importPool, type PoolHandle } from './import-pool.ts'
import { bytesOf, Pool, POOL_MAXIMUM } from './pool.ts'
import type { PoolRights } from './pool-facts.ts'

/** The options of a new pool. */
export interface PoolOptions {
  /** The name of the pool in messages, and of its memory in `/proc`. */
  readonly label?: string
  /**
   * By default `shared`. A `device-blob` is a dma-buf where the system provides one (`/dev/udmabuf`, `/dev/dma_heap/system`), and
   * emulated with shared memory elsewhere. `backing` says which.
   */
  readonly kind?: 'shared' | 'device-blob'
}

/**
 * Creates zeroed memory of a fixed size that can be shared with a driver: a sealed memfd on Linux, memory of `shm_open` on macOS.
 * Elsewhere it is memory of this process, for drivers in it and in its worker threads.
 *
 * @param byteSize from 1 to 2^32 - 1.
 * @returns a pool that the caller closes.
 * @throws {ArgumentRangeError} if the size is not valid. @throws {PoolsError} if no memory is left.
 * @example
 * using pool = createPool(4096, { label: 'activations' })
 * pool.byteSize // 4096
 */
export function createPool(byteSize: number, options?: PoolOptions): Pool<'writable'> {
  const { label = '', kind = 'shared' } = checkOptions(options, ['label', 'kind'])
  const size = checkPoolSize(byteSize)
  if (kind !== 'shared' && kind !== 'device-blob')
    throw new ArgumentError(`kind must be 'shared' or 'device-blob', got ${describe(kind)}`)
  return create(size, kind !== 'shared', { kind, byteSize: size, label }) as Pool<'writable'>
}

/** The options of a new image. */
export interface ImageOptions {
  /** The width in pixels. */
  readonly width: number
  readonly height: number
  /** By default 1. */
  readonly layers?: number
  /** A format with rows of pixels. */
  readonly format: BufferFormat
  readonly label?: string
}

/**
 * Creates a hardware buffer with rows of zeroed pixels. The stride is chosen so that rows start at multiples of 64 bytes. The
 * image is a dma-buf where the system provides one, and emulated elsewhere. `backing` says which.
 *
 * @throws {PoolsError} P11, P12 if the description is not valid. @throws {PoolsError} if no memory is left.
 * @example
 * using image = createImagePool({ width: 640, height: 480, format: 'R8G8B8A8_UNORM' })
 * image.description.stride // 640
 */
export function createImagePool(options: ImageOptions): ImagePool<'writable'> {
  if (options === undefined) throw wrongType('options', 'an object with width, height and format', options)
  checkOptions(options, ['width', 'height', 'layers', 'format', 'label'])
  const { width, height, layers = 1, format, label = '' } = options
  if (!Object.hasOwn(bufferFormats, format) || bufferFormats[format].pixelSize === 0 || format === 'BLOB')
    throw new ArgumentError(`format must be one with rows of pixels, got ${describe(format)}`)
  const { CPU_READ_OFTEN, CPU_WRITE_OFTEN } = bufferUsage
  const usage = CPU_READ_OFTEN | CPU_WRITE_OFTEN
  const stride = strideOf(checkSize(width, 'width'), bufferFormats[format].pixelSize)
  const image = { width, height, layers, format, usage, stride }
  checkBufferDescription(image)
  const size = checkPoolSize(memorySize(image))
  return create(size, true, { kind: 'device-image', byteSize: 0, image, label }) as ImagePool<'writable'>
}

/** Creates a pool over new memory: of a device, if `isOfDevice` and the system provides some. */
function create(size: number, isOfDevice: boolean, handle: Omit<PoolHandle, 'attachment' | 'keep'>): Pool {
  return adopt(createMemory(size, handle.label!, isOfDevice), (attachment) =>
    importPool({ ...handle, attachment, keep: true }),
  )
}

function createMemory(byteSize: number, label: string, isOfDevice: boolean): Attachment {
  if (platform.sharesDescriptors())
    return (isOfDevice ? createDmaBuf(byteSize) : undefined) ?? createSharedMemory(byteSize, label)
  try {
    return new SharedArrayBuffer(byteSize)
  } catch (cause) {
    throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `no memory for a pool of ${byteSize} bytes`, { cause })
  }
}

/**
 * Creates memory whose contents never change. Drivers use the constants of models in it without copying them.
 *
 * @param contents the bytes, which are copied once.
 * @example
 * using weights = createFrozenPool(new Float32Array([0.5, 1.5]))
 * weights.rights // 'frozen'
 */
export function createFrozenPool(contents: ArrayBufferView | ArrayBuffer, options?: PoolOptions): Pool<'frozen'> {
  const bytes = bytesOf(contents)
  const pool = createPool(bytes.length, options)
  try {
    pool.write(0, bytes)
    return freezePool(pool)
  } finally {
    pool[Symbol.dispose]()
  }
}

/**
 * Turns a writable pool into a frozen one over the same memory, and closes the writable pool. On Linux the kernel enforces that
 * nobody writes the memory again; elsewhere this library does.
 *
 * @throws {ScopeHeldError} if calls use the pool, which stays open. @throws {PoolsError} if another process has mapped the
 * memory. Freeze the pool before you use it with a driver.
 */
export function freezePool(pool: Pool<'writable'>): Pool<'frozen'> {
  const rights = { isFrozen: true, seals: seals.WRITE | seals.SEAL }
  return reseal(pool, rights, () => pool.close()) as Pool<'frozen'>
}

/**
 * Creates a second pool over the same memory that is read-only for its receiver, which the kernel enforces on Linux. `pool`
 * stays writable, but nobody can map the memory writable again: use `pool` with its drivers first.
 *
 * @returns a second pool that the caller closes.
 */
export function shareReadOnly(pool: Pool<'writable'>): Pool<'read-only'> {
  return reseal(pool, { isWritable: false, seals: seals.FUTURE_WRITE }) as Pool<'read-only'>
}

/** Makes a second pool over the same memory, which is sealed after `prepare` has run. */
function reseal(
  pool: Pool<'writable'>,
  { seals: added, ...rights }: Pick<PoolHandle, 'isFrozen' | 'isWritable'> & { readonly seals: number },
  prepare: () => void = () => {},
): Pool {
  if (!(pool instanceof Pool)) throw wrongType('pool', 'a pool', pool)
  pool.checkOpen()
  const { kind, backing, byteSize, attachment: own } = pool
  if (kind === 'file' || kind === 'device-image' || backing === 'dma-buf' || own === undefined) {
    const sentence = 'only linear shared memory can be sealed, not a file, an image or memory of a device'
    throw new PoolsError('INVALID_ARGUMENT', sentence)
  }
  return adopt(typeof own === 'number' ? duplicateDescriptor(own) : own, (attachment) => {
    prepare()
    if (platform.hasSeals() && typeof attachment === 'number') sealDescriptor(attachment, added)
    return importPool({ kind, attachment, byteSize, ...rights, keep: true })
  })
}

/** The options of mapping a file. */
export interface FilePoolOptions<Access extends 'read' | 'read-write'> {
  /** By default `read`. */
  readonly access?: Access
  /** The offset of the pool in the file, a multiple of the page size. By default 0. */
  readonly byteOffset?: number
  /** The size in bytes, by default the rest of the file. */
  readonly byteSize?: number
  readonly label?: string
}

/**
 * Maps a file. If the file is truncated later, the lost bytes read as zeros, executions that use them fail, and the process
 * continues. close() throws a `NativeError` if writes to a writable pool were lost, because the file is smaller or its file system full.
 *
 * @throws {PoolsError} if the file cannot be opened or mapped. @throws {ArgumentRangeError} if it is empty or too large.
 * @example
 * using weights = openFilePool('weights.bin')
 * weights.rights // 'read-only'
 */
export function openFilePool<Access extends 'read' | 'read-write' = 'read'>(
  path: string,
  options?: FilePoolOptions<Access>,
): Pool<Access extends 'read' ? 'read-only' : 'writable'> {
  checkName(path, 'path')
  const known = checkOptions(options, ['access', 'byteOffset', 'byteSize', 'label'])
  const { access = 'read', byteOffset = 0, byteSize, label = path } = known
  const offset = checkSize(byteOffset, 'byteOffset')
  if (!platform.sharesDescriptors())
    throw new PoolsError('GENERAL_FAILURE', `files cannot be mapped on ${process.platform}`, {
      hint: 'Read the file, and pass its bytes to createFrozenPool().',
    })
  let descriptor: number
  try {
    // Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
    const mode = access === 'read' ? constants.O_RDONLY : constants.O_RDWR
    descriptor = openFile(path, mode | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    const reason = (cause as Error).message
    throw new PoolsError('GENERAL_FAILURE', `the file ${describe(path)} could not be opened: ${reason}`, { cause })
  }
  const pool = adopt(descriptor, () => {
    const size = checkPoolSize(byteSize ?? describeDescriptor(descriptor).byteSize - offset)
    const place = { attachment: descriptor, byteSize: size, byteOffset: offset }
    return importPool({ kind: 'file', ...place, isWritable: access !== 'read', label, keep: true })
  })
  pool.addCloseAction(() => pool.checkWritten())
  return pool as Pool<Access extends 'read' ? 'read-only' : 'writable'>
}

/** Runs `make`, which takes memory over, and closes the memory if `make` throws. */
function adopt<P extends Pool<PoolRights>>(attachment: Attachment, make: (attachment: Attachment) => P): P {
  try {
    return make(attachment)
  } catch (error) {
    closeAttachment(attachment)
    throw error
  }
}

function checkPoolSize(byteSize: unknown): number {
  const size = checkSize(byteSize, 'byteSize')
  if (size >= 1 && size <= POOL_MAXIMUM) return size
  throw new ArgumentRangeError(`byteSize must be from 1 to ${POOL_MAXIMUM} bytes, got ${describe(byteSize)}`)
}

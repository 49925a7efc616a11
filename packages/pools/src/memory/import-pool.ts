import { pageSize } from '@tenon/core/internal'
import { failed, refused } from '../error-status.ts'
import { describeDescriptor, seals, sealsOf, type DescriptorInfo } from './descriptor.ts'
import { isDmaBuf, isLocalFile } from './file-system.ts'
import type { Attachment } from './attachment.ts'
import { mapOwn, openMapping } from './mapping.ts'
import { platform } from '../native/platform.ts'
import { checkBufferDescription, memorySize, rowSize, type BufferDescription } from './buffer-description.ts'
import { ImagePool } from './image-pool.ts'
import { Pool, POOL_MAXIMUM, type PoolParts } from './pool.ts'
import type { PoolBacking, PoolKind, PoolRights } from './pool-facts.ts'

/** A handle from its creator, which may be wrong. */
export interface PoolHandle {
  readonly kind: PoolKind
  /** The descriptor, or memory of this process itself. */
  readonly attachment: Attachment
  /** 0 for an image, whose description tells its size. */
  readonly byteSize: number
  /** The offset of the pool in a file. */
  readonly byteOffset?: number
  /** Whether a file, or memory without seals, may be written. The seals of other memory tell this. */
  readonly isWritable?: boolean
  /** Whether memory without seals is frozen. */
  readonly isFrozen?: boolean
  readonly image?: BufferDescription
  readonly label?: string
  /** Whether the pool keeps the descriptor and can be sent on. Otherwise the caller closes it. */
  readonly keep: boolean
}

const HUGE_PAGES = 0x9584_58f6

/** Maps a handle after comparing it with the kernel's facts. Takes the descriptor over, except if this throws. */
export function importPool(handle: PoolHandle): Pool {
  const { kind, attachment, byteOffset = 0 } = handle
  const byteSize = checkNumbers(handle)
  if (attachment instanceof SharedArrayBuffer) return importOwn(handle, attachment, byteSize)
  const info = describeAttached(kind, attachment)
  if (byteOffset % pageSize() !== 0)
    throw failed('P7', `the offset must be a multiple of ${pageSize()}, got ${byteOffset}`)
  if (info.byteSize < byteOffset + byteSize)
    throw failed('P15', `the memory must have ${byteOffset + byteSize} bytes, it has ${info.byteSize}`)
  const rights = rightsOf(info, handle)
  const sharing = { isShared: rights === 'writable', isGuarded: kind === 'file' }
  const mapping = openMapping(attachment, byteOffset, byteSize, sharing)
  return poolOf(handle, { rights, backing: backingOf(kind, info), identity: info.identity, mapping })
}

function checkNumbers({ kind, byteSize, image }: PoolHandle): number {
  if (kind !== 'device-image') {
    if (byteSize === 0) throw refused('P5', 'a pool must have at least one byte')
    if (byteSize > POOL_MAXIMUM) throw refused('P9', `a pool must have at most ${POOL_MAXIMUM} bytes, got ${byteSize}`)
    return byteSize
  }
  if (image === undefined) throw refused('P12', 'an image must have a description')
  checkBufferDescription(image)
  if (byteSize !== 0) throw refused('P11', `the size of an image must be 0, got ${byteSize}`)
  if (rowSize(image) === 0 || image.format === 'BLOB') throw failed('P11', `${image.format} has no rows of pixels`)
  const size = memorySize(image)
  if (size > POOL_MAXIMUM) throw refused('P9', `an image must have at most ${POOL_MAXIMUM} bytes, got ${size}`)
  return size
}

/** Describes the memory of a descriptor that may be wrong, after checking its kind. @throws {PoolsError} P15 */
export function describeAttached(kind: PoolKind, descriptor: number): DescriptorInfo {
  return kind === 'file' ? describeFile(descriptor) : describeMemory(kind, descriptor)
}

/** Describes a file, after checking that its file system is local and answers. */
function describeFile(descriptor: number): DescriptorInfo {
  if (!isLocalFile(descriptor)) throw failed('P15', 'a file must lie on a file system of this machine')
  const info = describeDescriptor(descriptor)
  if (!info.isRegular || !info.canRead) throw failed('P15', 'the descriptor must be a file that can be read')
  return info
}

/** Describes memory, after checking that it cannot shrink or fault. @throws {PoolsError} P15 */
export function describeMemory(kind: PoolKind, descriptor: number): DescriptorInfo {
  // Only a memfd can have this seal, so that nothing else needs to be excluded.
  const isSealed = (sealsOf(descriptor) & seals.SHRINK) !== 0
  if (!isSealed && !(kind !== 'shared' && isDmaBuf(descriptor)))
    throw failed('P15', 'shared memory must be sealed against shrinking')
  const info = describeDescriptor(descriptor)
  if (!info.canRead || (isSealed ? !info.isRegular : !info.isDmaBuf))
    throw failed('P15', 'the descriptor must be memory that can be read')
  if (info.fileSystem === HUGE_PAGES)
    throw failed('P15', 'memory must not have huge pages, which can fault although they are sealed')
  return info
}

/** Returns the rights that the kernel grants. Without seals, and for files, the creator declares them. @throws {PoolsError} P17 */
export function rightsOf(info: DescriptorInfo, handle: DeclaredRights): PoolRights {
  return handle.kind === 'file' ? fileRights(info, handle) : memoryRights(info, handle)
}

type DeclaredRights = Pick<PoolHandle, 'kind' | 'isWritable' | 'isFrozen'>

function memoryRights({ seals: sealed, canWrite }: DescriptorInfo, handle: DeclaredRights): PoolRights {
  if ((sealed & seals.WRITE) !== 0) return 'frozen'
  if ((sealed & seals.FUTURE_WRITE) !== 0 || !canWrite) return 'read-only'
  return platform.hasSeals() ? 'writable' : declaredRights(handle)
}

/** Without seals, the creator declares the rights. */
function declaredRights({ isFrozen = false, isWritable = true }: Omit<DeclaredRights, 'kind'>): PoolRights {
  return isFrozen ? 'frozen' : isWritable ? 'writable' : 'read-only'
}

function fileRights({ canWrite }: DescriptorInfo, { isWritable = false }: DeclaredRights): PoolRights {
  if (isWritable && !canWrite) throw failed('P17', 'the file must be open for writing')
  return isWritable ? 'writable' : 'read-only'
}

function backingOf(kind: PoolKind, { isDmaBuf: isOfDevice }: DescriptorInfo): PoolBacking {
  if (kind === 'file') return 'file'
  if (isOfDevice) return 'dma-buf'
  return platform.hasSeals() ? 'memfd' : 'posix-shm'
}

/** Numbers for memory of this process, which has no inode. */
let lastOwn = 0
const ownIdentities = new WeakMap<SharedArrayBuffer, string>()

function importOwn(handle: PoolHandle, memory: SharedArrayBuffer, byteSize: number): Pool {
  if (handle.kind === 'file') throw failed('P15', 'a file must have a descriptor')
  if (memory.byteLength < byteSize)
    throw failed('P15', `the memory must have ${byteSize} bytes, it has ${memory.byteLength}`)
  if (!ownIdentities.has(memory)) ownIdentities.set(memory, `process:${++lastOwn}`)
  const identity = ownIdentities.get(memory)!
  const found = { rights: declaredRights(handle), backing: 'process', identity, mapping: mapOwn(memory) } as const
  return poolOf({ ...handle, keep: true }, found)
}

function poolOf(
  { kind, attachment, byteSize, byteOffset = 0, image, label = '', keep }: PoolHandle,
  found: Pick<PoolParts, 'rights' | 'backing' | 'identity' | 'mapping'>,
): Pool {
  // Memory of a device is synchronised through its descriptor, and the size of a file is examined.
  const kept = keep || found.backing === 'dma-buf' || kind === 'file' ? attachment : undefined
  const parts = { ...found, kind, byteSize, identityOffset: byteOffset, label, attachment: kept }
  return image === undefined ? new Pool(parts) : new ImagePool({ ...parts, rights: found.rights }, image)
}

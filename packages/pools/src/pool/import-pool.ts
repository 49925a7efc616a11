import { PoolsError } from '../error-status.ts'
import { describeDescriptor, seals, type DescriptorInfo } from '../native/descriptor.ts'
import { openMapping, PAGE } from '../native/mapping.ts'
import { Pool, POOL_MAXIMUM } from './pool.ts'
import type { PoolKind, PoolRights } from './pool-facts.ts'

/** A handle as it comes from its creator, who may lie. */
export interface PoolHandle {
  readonly kind: PoolKind
  readonly descriptor: number
  readonly byteSize: number
  /** Of a file: where the pool starts. */
  readonly byteOffset?: number
  /** Of a file: whether it may be written. Shared memory tells by its seals. */
  readonly isWritable?: boolean
  readonly label?: string
  /** Keep the descriptor, so that the pool can be sent on; otherwise it is closed once the memory is mapped. */
  readonly keep: boolean
}

/**
 * File systems whose pages come from this machine: ext, XFS, Btrfs, tmpfs, F2FS, ZFS, overlays of containers. A page of
 * another one (FUSE, a network) may never come, and whoever waits for it hangs.
 */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x2fc1_2fc1, 0x794c_7630,
])

const HUGE_PAGES = 0x9584_58f6

/**
 * Maps a handle after everything that the kernel knows of it was compared with what it says. Takes the descriptor over: it
 * is closed by the pool or, if this throws, still the caller's.
 *
 * @throws {PoolsError} P5, P7, P9 with `INVALID_ARGUMENT`; P15, P17 with `GENERAL_FAILURE`.
 */
export function importPool(handle: PoolHandle): Pool {
  const { kind, descriptor, byteSize, byteOffset = 0, label = '', keep } = handle
  if (byteSize === 0) throw refused('P5', 'a pool must have at least one byte')
  if (byteSize > POOL_MAXIMUM) throw refused('P9', `a pool must have at most ${POOL_MAXIMUM} bytes, got ${byteSize}`)
  const info = describeDescriptor(descriptor)
  if (!info.isRegular || !info.canRead) throw broken('P15', 'the descriptor must be readable memory or a file')
  if (info.fileSystem === HUGE_PAGES)
    throw broken('P15', 'memory of huge pages is refused: it can fault although it is sealed')
  if (byteOffset % PAGE !== 0) throw broken('P7', `the offset must be a multiple of ${PAGE}, got ${byteOffset}`)
  if (info.byteSize < byteOffset + byteSize) {
    throw broken('P15', `the memory must have ${byteOffset + byteSize} bytes, it has ${info.byteSize}`)
  }
  const rights = kind === 'file' ? fileRights(info, handle.isWritable === true) : memoryRights(info)
  const isGuarded = kind === 'file'
  const mapping = openMapping(descriptor, byteOffset, byteSize, { isShared: rights === 'writable', isGuarded })
  return new Pool({
    kind,
    rights,
    byteSize,
    label,
    descriptor: keep ? descriptor : undefined,
    identity: info.identity,
    identityOffset: byteOffset,
    mapping,
  })
}

function memoryRights({ seals: sealed, canWrite }: DescriptorInfo): PoolRights {
  // Only a memfd can have this seal, so the rest of what could go wrong is excluded with it.
  if ((sealed & seals.SHRINK) === 0) throw broken('P15', 'shared memory must be sealed against shrinking')
  if ((sealed & seals.WRITE) !== 0) return 'frozen'
  return (sealed & seals.FUTURE_WRITE) !== 0 || !canWrite ? 'read-only' : 'writable'
}

function fileRights({ fileSystem, canWrite }: DescriptorInfo, isWritable: boolean): PoolRights {
  if (!LOCAL_FILE_SYSTEMS.has(fileSystem)) {
    throw broken('P15', `a file must lie on a local file system, its type is 0x${fileSystem.toString(16)}`)
  }
  if (isWritable && !canWrite) throw broken('P17', 'the file must be open for writing')
  return isWritable ? 'writable' : 'read-only'
}

const refused = (rule: string, sentence: string): PoolsError =>
  new PoolsError('INVALID_ARGUMENT', `${sentence} (rule ${rule})`, { rule })
const broken = (rule: string, sentence: string): PoolsError =>
  new PoolsError('GENERAL_FAILURE', `${sentence} (rule ${rule})`, { rule })

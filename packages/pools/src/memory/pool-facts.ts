/**
 * The kind of a pool: `shared` anonymous memory that cannot shrink, a mapped `file`, a `device-blob`, which is a linear hardware
 * buffer, or a `device-image`, which is a hardware buffer with rows of pixels.
 */
export type PoolKind = 'shared' | 'file' | 'device-blob' | 'device-image'

/**
 * The rights of a pool: `writable` by everybody who has it; `frozen`, which nobody ever writes, so that constants are used in
 * place; or `read-only`, although its owner may still write.
 */
export type PoolRights = 'writable' | 'frozen' | 'read-only'

/**
 * The place of a pool's bytes: a sealed `memfd` (Linux), memory of `shm_open` (macOS: `posix-shm`), a `file`, a `dma-buf` of a
 * device, or memory of this `process`, where processes cannot share memory. A hardware buffer without a dma-buf is emulated.
 */
export type PoolBacking = 'memfd' | 'posix-shm' | 'file' | 'dma-buf' | 'process'

/** The facts about a pool that validation needs. A {@link Pool} has them, as the records of a driver do. */
export interface PoolFacts {
  /** `token` is a device buffer, whose size its user does not know. */
  readonly kind: PoolKind | 'token'
  /** 0 for a device buffer and for an image, which are used as a whole. */
  readonly byteSize: number
  readonly rights: PoolRights
  /** Identifies the memory: pools over the same memory have the same identity. */
  readonly identity: string
  /** The offset of the pool in that memory, in bytes. */
  readonly identityOffset: number
}

/** Whether a pool is used as a whole, without offsets and lengths: a device buffer, or an image (Q4). */
export function isWhole({ kind }: PoolFacts): boolean {
  return kind === 'token' || kind === 'device-image'
}

/**
 * What a pool is made of: `shared` anonymous memory that can't shrink, a mapped `file`, a `device-blob`, a linear hardware
 * buffer, or a `device-image`, a hardware buffer with rows of pixels.
 */
export type PoolKind = 'shared' | 'file' | 'device-blob' | 'device-image'

/**
 * What may be done with a pool: `writable` by everybody who has it; `frozen`, never written again by anybody, the only kind
 * that constants are used from in place; `read-only`, while its owner may still write.
 */
export type PoolRights = 'writable' | 'frozen' | 'read-only'

/**
 * Where the bytes of a pool really are: a sealed `memfd` (Linux), memory of `shm_open` (macOS: `posix-shm`), a `file`, a
 * `dma-buf` of a device, or memory of this `process` alone, where the system has none that processes share. A hardware
 * buffer that isn't a dma-buf is emulated.
 */
export type PoolBacking = 'memfd' | 'posix-shm' | 'file' | 'dma-buf' | 'process'

/** What validators know of a pool. A {@link Pool} is one; so are the records of a driver. */
export interface PoolFacts {
  /** `token` is a buffer of the driver, named by a token: it has no size that its user knows. */
  readonly kind: PoolKind | 'token'
  /** 0 for a buffer of the driver and for an image: they are used as a whole. */
  readonly byteSize: number
  readonly rights: PoolRights
  /** The same for pools over the same memory, whoever maps it. */
  readonly identity: string
  /** Where it starts in that memory, in bytes. */
  readonly identityOffset: number
}

/** Whether a pool is used as a whole, without offsets and lengths: a buffer of the driver, or an image (Q4). */
export function isWhole({ kind }: PoolFacts): boolean {
  return kind === 'token' || kind === 'device-image'
}

/**
 * What a pool is made of: `shared` anonymous memory that can't shrink, a mapped `file`, or a `device-blob`, a linear
 * hardware buffer.
 */
export type PoolKind = 'shared' | 'file' | 'device-blob'

/**
 * What may be done with a pool: `writable` by everybody who has it; `frozen`, never written again by anybody, the only kind
 * that constants are used from in place; `read-only`, while its owner may still write.
 */
export type PoolRights = 'writable' | 'frozen' | 'read-only'

/** What validators know of a pool. A {@link Pool} is one; so are the records of a driver. */
export interface PoolFacts {
  /** `token` is a buffer of the driver, named by a token: it has no size that its user knows. */
  readonly kind: PoolKind | 'token'
  readonly byteSize: number
  readonly rights: PoolRights
  /** The same for pools over the same memory, whoever maps it. */
  readonly identity: string
  /** Where it starts in that memory, in bytes. */
  readonly identityOffset: number
}

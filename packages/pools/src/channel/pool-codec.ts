import { refused } from '../error-status.ts'
import type { Attachment } from '../native/link.ts'
import { decodeBufferDescription, encodeBufferDescription } from '../pool/buffer-description.ts'
import { ImagePool } from '../pool/image-pool.ts'
import type { PoolHandle } from '../pool/import-pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { PoolKind } from '../pool/pool-facts.ts'
import type { Reader } from './body.ts'

/** Returns the description of a pool for a message, beside its id and kind. */
export function poolMessage(pool: Pool): object {
  const { byteSize, identityOffset: byteOffset, rights } = pool
  return {
    byteSize,
    byteOffset,
    isWritable: rights === 'writable',
    isFrozen: rights === 'frozen',
    image: pool instanceof ImagePool ? encodeBufferDescription(pool.description) : undefined,
  }
}

const KINDS: readonly string[] = ['shared', 'file', 'device-blob', 'device-image'] satisfies PoolKind[]

/** Reads a client's description of a pool, which may be wrong. @throws {PoolsError} */
export function readPool(reader: Reader, attachment: Attachment): PoolHandle {
  const kind = reader.field('kind').string()
  if (!KINDS.includes(kind)) throw refused('P1', `a pool must be one of ${KINDS.join(', ')}`)
  const byteOffset = reader.field('byteOffset').number()
  if (!(Number.isSafeInteger(byteOffset) && byteOffset >= 0)) throw refused('P7', 'an offset must be a whole number')
  const image = reader.field('image').optional((value) => decodeBufferDescription(value.bytes()))
  return {
    kind: kind as PoolKind,
    attachment,
    byteSize: reader.field('byteSize').u32(),
    byteOffset,
    isWritable: reader.field('isWritable').boolean(),
    isFrozen: reader.field('isFrozen').optional((value) => value.boolean()) ?? false,
    ...(image === undefined ? {} : { image }),
    keep: false,
  }
}

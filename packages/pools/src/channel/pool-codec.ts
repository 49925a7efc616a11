import { refused } from '../error-status.ts'
import type { Attachment } from '../native/link.ts'
import { decodeBufferDescription, encodeBufferDescription } from '../pool/buffer-description.ts'
import { ImagePool } from '../pool/image-pool.ts'
import type { PoolHandle } from '../pool/import-pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { PoolKind } from '../pool/pool-facts.ts'
import type { Reader } from './body.ts'

/** What a message says of a pool, beside its id and its kind. */
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

/** Reads what a client says of a pool, which may be a lie. @throws {PoolsError} */
export function readPool(reader: Reader, attachment: Attachment): PoolHandle {
  const kind = reader.field('kind').string()
  if (!KINDS.includes(kind)) throw refused('P1', `a pool must be one of ${KINDS.join(', ')}`)
  const byteOffset = reader.field('byteOffset').number()
  if (!(Number.isSafeInteger(byteOffset) && byteOffset >= 0)) throw refused('P7', 'an offset must be a whole number')
  const [image, isFrozen] = [reader.field('image'), reader.field('isFrozen')]
  return {
    kind: kind as PoolKind,
    attachment,
    byteSize: reader.field('byteSize').u32(),
    byteOffset,
    isWritable: reader.field('isWritable').boolean(),
    isFrozen: !isFrozen.isMissing && isFrozen.boolean(),
    ...(image.isMissing ? {} : { image: decodeBufferDescription(image.bytes()) }),
    keep: false,
  }
}

import { refused, type Attachment, type PoolHandle } from '@tenon/pools/internal'
import type { PoolKind } from '@tenon/pools'
import { decodeBufferDescription } from './buffer-description.ts'
import { binary, boolean, number, type Read, type Reader, record, string, u32 } from './body.ts'

const KINDS: readonly string[] = ['shared', 'file', 'device-blob', 'device-image'] satisfies PoolKind[]

const readHandle = record<Omit<PoolHandle, 'attachment' | 'keep' | 'label' | 'byteOffset'> & { byteOffset: number }>({
  kind: string as Read<PoolKind>,
  byteSize: u32,
  byteOffset: number,
  isWritable: boolean,
  isFrozen: (isFrozen) => isFrozen.optional(boolean) ?? false,
  image: (image) => image.optional((description) => decodeBufferDescription(binary(description)))!,
})

/** Reads the handle of a pool. Its facts are compared with the kernel's when it is imported. @throws {PoolsError} */
export function readPool(reader: Reader, attachment: Attachment): PoolHandle {
  const handle = readHandle(reader)
  const { kind, byteOffset } = handle
  if (!KINDS.includes(kind)) throw refused('P1', `a pool must be one of ${KINDS.join(', ')}`)
  if (!(Number.isSafeInteger(byteOffset) && byteOffset >= 0)) throw refused('P7', 'an offset must be a whole number')
  return { ...handle, attachment, keep: false }
}

import { crc32, deflateRawSync } from 'node:zlib'

/** A member of an archive, of which parts can be wrong. */
export interface ZipPart {
  readonly name: string
  readonly bytes: Uint8Array
  readonly isDeflated?: boolean
  /** Extra fields of the header before the data. */
  readonly extra?: Uint8Array
  /** Whether the directory has the sizes of zip64. */
  readonly zip64?: boolean
  readonly flags?: number
  readonly crc?: number
  /** The bytes that are stored instead. */
  readonly data?: Uint8Array
  /** The size of the bytes in the directory. */
  readonly byteSize?: number
}

/** A zip archive, as APPNOTE 6.3 describes it. */
export function zipBytes(parts: readonly ZipPart[], { zip64 = false, comment = '' } = {}): Buffer {
  const [members, directory]: [Buffer[], Buffer[]] = [[], []]
  let start = 0
  for (const part of parts) {
    const { isDeflated = false, extra = Buffer.alloc(0), flags = 1 << 11 } = part
    const name = Buffer.from(part.name, flags === 0 ? 'latin1' : 'utf8')
    const data = part.data ?? (isDeflated ? deflateRawSync(part.bytes) : part.bytes)
    const sizes = Buffer.alloc(20)
    sizes.writeUInt16LE(flags, 0)
    sizes.writeUInt16LE(isDeflated ? 8 : 0, 2)
    sizes.writeUInt32LE(part.crc ?? crc32(part.bytes), 8)
    sizes.writeUInt32LE(data.length, 12)
    sizes.writeUInt32LE(part.byteSize ?? part.bytes.length, 16)
    const local = Buffer.concat([
      Buffer.from('PK\u0003\u0004\u0014\u0000'),
      sizes,
      words(name.length, extra.length),
      name,
      extra,
      data,
    ])
    const large =
      part.zip64 === true
        ? Buffer.concat([words(1, 24), sizes64(part.bytes.length, data.length, start)])
        : Buffer.alloc(0)
    if (part.zip64 === true) sizes.fill(0xff, 12)
    const tail = Buffer.alloc(12)
    tail.writeUInt32LE(part.zip64 === true ? 0xffff_ffff : start, 8)
    directory.push(
      Buffer.from('PK\u0001\u0002\u0014\u0000\u0014\u0000'),
      sizes,
      words(name.length, large.length, 0),
      tail,
      name,
      large,
    )
    members.push(local)
    start += local.length
  }
  const records = Buffer.concat(directory)
  const end = Buffer.concat([
    Buffer.from('PK\u0005\u0006'),
    words(0, 0, parts.length, parts.length),
    Buffer.alloc(8),
    words(comment.length),
    Buffer.from(comment),
  ])
  end.writeUInt32LE(records.length, 12)
  end.writeUInt32LE(start, 16)
  if (!zip64) return Buffer.concat([...members, records, end])
  end.fill(0xff, 8, 20)
  const record = Buffer.concat([
    Buffer.from('PK\u0006\u0006'),
    sizes64(44),
    words(45, 45),
    Buffer.alloc(8),
    sizes64(parts.length, parts.length, records.length, start),
  ])
  const locator = Buffer.concat([
    Buffer.from('PK\u0006\u0007'),
    Buffer.alloc(4),
    sizes64(start + records.length),
    Buffer.from([1, 0, 0, 0]),
  ])
  return Buffer.concat([...members, records, record, locator, end])
}

function words(...values: readonly number[]): Buffer {
  return Buffer.from(Uint16Array.from(values).buffer)
}

function sizes64(...values: readonly number[]): Buffer {
  return Buffer.from(BigUint64Array.from(values, BigInt).buffer)
}

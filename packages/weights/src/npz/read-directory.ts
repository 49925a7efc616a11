import type { FileBytes } from '../files/file-bytes.ts'

/** A member of a zip archive. */
export interface ZipMember {
  readonly name: string
  readonly isDeflated: boolean
  readonly crc: number
  /** The place of the header before the data. */
  readonly header: number
  /** The bytes in the archive. */
  readonly dataOffset: number
  readonly storedSize: number
  /** The bytes of the member itself. */
  readonly byteSize: number
}

const SIGNATURES = { end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50, entry: 0x02014b50, local: 0x04034b50 }
const END_SIZE = 22
const LOCATOR_SIZE = 20
const END64_SIZE = 56
const ENTRY_SIZE = 46
const LOCAL_SIZE = 30

/** The largest directory in bytes. */
const MOST_DIRECTORY = 2 ** 26

/** The flags of an encrypted member, and of a name in UTF-8. */
const ENCRYPTED = 1
const UTF8 = 1 << 11

/** The most bytes that a byte of deflate stands for. */
const MOST_RATIO = 1032

interface Directory {
  readonly start: number
  readonly byteSize: number
  readonly count: number
}

/** Reads the directory of a zip archive, of the specification APPNOTE 6.3. @throws {WeightsFormatError} with the place */
export function readDirectory(file: FileBytes): readonly ZipMember[] {
  const { start, byteSize, count } = findDirectory(file)
  const bytes = file.copy(start, byteSize)
  const members: ZipMember[] = []
  const names = new Set<string>()
  let at = 0
  for (let i = 0; i < count; i++) {
    const { member, length } = readMember(file, bytes, at, start)
    if (names.has(member.name)) throw file.error(start + at, `two members have the name ${JSON.stringify(member.name)}`)
    names.add(member.name)
    members.push(member)
    at += length
  }
  if (at !== byteSize) throw file.error(start + at, `the directory should end here, but ends at ${start + byteSize}`)
  let end = 0
  for (const member of members.toSorted((a, b) => a.header - b.header)) {
    if (member.header < end)
      throw file.error(member.header, `the member ${JSON.stringify(member.name)} overlaps another one`)
    end = member.dataOffset + member.storedSize
  }
  return members
}

/** Finds the record at the end of the archive, behind which is only a comment. */
function findDirectory(file: FileBytes): Directory {
  const tailStart = Math.max(file.byteSize - END_SIZE - 0xffff, 0)
  const tail = file.copy(tailStart, file.byteSize - tailStart)
  let at = tail.length - END_SIZE
  while (
    at >= 0 &&
    !(tail.readUInt32LE(at) === SIGNATURES.end && at + END_SIZE + tail.readUInt16LE(at + 20) === tail.length)
  )
    at--
  const end = tailStart + at
  if (at < 0) {
    throw file.error(file.byteSize, 'the archive should end with the record of its directory', {
      hint: "Copy the file again, because it is truncated, or write one with NumPy's savez.",
    })
  }
  const disks = [tail.readUInt16LE(at + 4), tail.readUInt16LE(at + 6), tail.readUInt16LE(at + 8)]
  const plain = {
    count: tail.readUInt16LE(at + 10),
    byteSize: tail.readUInt32LE(at + 12),
    start: tail.readUInt32LE(at + 16),
  }
  const isLarge = plain.count === 0xffff || plain.byteSize === 0xffff_ffff || plain.start === 0xffff_ffff
  const { directory, limit } = isLarge ? readEnd64(file, end) : { directory: plain, limit: end }
  if (!isLarge && (disks[0] !== 0 || disks[1] !== 0 || disks[2] !== plain.count)) {
    throw file.error(end, 'the archive should be in one file')
  }
  if (directory.start + directory.byteSize !== limit) {
    throw file.error(
      end,
      `the directory should end at byte ${limit}, but ends at ${directory.start + directory.byteSize}`,
    )
  }
  if (directory.byteSize > MOST_DIRECTORY || directory.count > directory.byteSize / ENTRY_SIZE) {
    throw file.error(
      end,
      `the directory has ${directory.count} members in ${directory.byteSize} bytes, which is not possible or above the limit`,
    )
  }
  return directory
}

/** The record of zip64, which a locator before the end names. */
function readEnd64(file: FileBytes, end: number): { readonly directory: Directory; readonly limit: number } {
  const wrong = (): Error => file.error(end, 'the archive should have a record of zip64 before its end')
  if (end < LOCATOR_SIZE + END64_SIZE) throw wrong()
  const locator = file.copy(end - LOCATOR_SIZE, LOCATOR_SIZE)
  const start = sizeIn(locator, 8)
  if (
    locator.readUInt32LE(0) !== SIGNATURES.locator64 ||
    start === undefined ||
    start > end - LOCATOR_SIZE - END64_SIZE
  )
    throw wrong()
  const record = file.copy(start, END64_SIZE)
  const [count, byteSize, first] = [sizeIn(record, 32), sizeIn(record, 40), sizeIn(record, 48)]
  if (record.readUInt32LE(0) !== SIGNATURES.end64 || sizeIn(record, 24) !== count) throw wrong()
  if (count === undefined || byteSize === undefined || first === undefined) throw wrong()
  return { directory: { count, byteSize, start: first }, limit: start }
}

/** A size of 64 bits, or undefined from 2^53 on. */
function sizeIn(bytes: Buffer, at: number): number | undefined {
  const size = Number(bytes.readBigUInt64LE(at))
  return Number.isSafeInteger(size) ? size : undefined
}

function readMember(
  file: FileBytes,
  bytes: Buffer,
  at: number,
  start: number,
): { readonly member: ZipMember; readonly length: number } {
  const error = (reason: string): Error => file.error(start + at, reason)
  if (at + ENTRY_SIZE > bytes.length || bytes.readUInt32LE(at) !== SIGNATURES.entry)
    throw error('the directory should have a member here')
  const flags = bytes.readUInt16LE(at + 8)
  const method = bytes.readUInt16LE(at + 10)
  const [nameSize, extraSize, commentSize] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) as [
    number,
    number,
    number,
  ]
  const length = ENTRY_SIZE + nameSize + extraSize + commentSize
  if (at + length > bytes.length) throw error('the directory ends within a member')
  const nameBytes = bytes.subarray(at + ENTRY_SIZE, at + ENTRY_SIZE + nameSize)
  const name = decodeName(nameBytes, flags, error)
  const what = `the member ${JSON.stringify(name)}`
  if ((flags & ENCRYPTED) !== 0) throw error(`${what} is encrypted`)
  if (method !== 0 && method !== 8) throw error(`${what} should be stored or deflated, but has the method ${method}`)
  const extra = bytes.subarray(at + ENTRY_SIZE + nameSize, at + ENTRY_SIZE + nameSize + extraSize)
  const sizes = {
    storedSize: bytes.readUInt32LE(at + 20),
    byteSize: bytes.readUInt32LE(at + 24),
    header: bytes.readUInt32LE(at + 42),
  }
  const { storedSize, byteSize, header } = withZip64(sizes, extra, () =>
    error(`${what} should have its sizes in a field of zip64`),
  )
  if (method === 0 ? storedSize !== byteSize : byteSize > storedSize * MOST_RATIO + MOST_RATIO)
    throw error(`${what} cannot have ${byteSize} bytes, because ${storedSize} are stored`)
  const dataOffset = readLocal(file, header, { nameBytes, method, limit: start, what })
  if (dataOffset + storedSize > start)
    throw error(`${what} should end before the directory, but ends at byte ${dataOffset + storedSize}`)
  const crc = bytes.readUInt32LE(at + 16)
  const member = { name, isDeflated: method === 8, crc, header, dataOffset, storedSize, byteSize }
  return { member, length }
}

function decodeName(bytes: Buffer, flags: number, error: (reason: string) => Error): string {
  if ((flags & UTF8) === 0 && bytes.some((byte) => byte > 127))
    throw error('the name of a member is neither ASCII nor UTF-8')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw error('the name of a member is not UTF-8')
  }
}

interface Sizes {
  readonly storedSize: number
  readonly byteSize: number
  readonly header: number
}

/** Replaces sizes of 2^32 - 1 by those of the extra field of zip64, which has them in this order. */
function withZip64(sizes: Sizes, extra: Buffer, error: () => Error): Sizes {
  const isLarge = (size: number): boolean => size === 0xffff_ffff
  if (!isLarge(sizes.storedSize) && !isLarge(sizes.byteSize) && !isLarge(sizes.header)) return sizes
  for (let at = 0; at + 4 <= extra.length;) {
    const size = extra.readUInt16LE(at + 2)
    if (at + 4 + size > extra.length) break
    if (extra.readUInt16LE(at) === 1) {
      let field = at + 4
      const next = (known: number): number => {
        if (!isLarge(known)) return known
        const value = field + 8 <= at + 4 + size ? sizeIn(extra, field) : undefined
        field += 8
        if (value === undefined) throw error()
        return value
      }
      const byteSize = next(sizes.byteSize)
      const storedSize = next(sizes.storedSize)
      return { byteSize, storedSize, header: next(sizes.header) }
    }
    at += 4 + size
  }
  throw error()
}

/** Reads the header before the data of a member, which must have the same name. @returns the place of the data */
function readLocal(
  file: FileBytes,
  header: number,
  { nameBytes, method, limit, what }: { nameBytes: Buffer; method: number; limit: number; what: string },
): number {
  if (header + LOCAL_SIZE + nameBytes.length > limit)
    throw file.error(header, `${what} should begin before the directory`)
  const local = file.copy(header, LOCAL_SIZE + nameBytes.length)
  const isSame =
    local.readUInt16LE(8) === method &&
    local.readUInt16LE(26) === nameBytes.length &&
    local.subarray(LOCAL_SIZE).equals(nameBytes)
  if (local.readUInt32LE(0) !== SIGNATURES.local || !isSame)
    throw file.error(header, `${what} should have a header that agrees with the directory`)
  return header + LOCAL_SIZE + nameBytes.length + local.readUInt16LE(28)
}

import type * as Zlib from 'node:zlib'
import { ArgumentError, dtypeInfo, type NativeAllocator, type Segment, type Tensor } from '@tenon/core'
import { checkOptions, checkSize, checkUsable, isDetached } from '@tenon/core/internal'
import type { ResourceScope } from '@tenon/scope'
import { FileBytes, openMapped } from '../files/file-bytes.ts'
import type { WeightsEntry } from '../files/weights-entry.ts'
import { checkEnd, readElements, tensorOver } from '../npy/npy-array.ts'
import { NpyFormatError } from '../npy/npy-format-error.ts'
import { decodeNpyHeader, MAX_PREFIX_BYTES, npyDataOffset, type NpyHeader } from '../npy/npy-header.ts'
import { WeightsFile, type WeightsSource } from '../weights-file.ts'
import { readDirectory, type ZipMember } from './read-directory.ts'

const FORMAT = '.npz'

/** `node:zlib`, which loads the streams of Node.js and so waits for an archive. */
const zlib = (): typeof Zlib => process.getBuiltinModule('node:zlib')

/** The end of the names of arrays in the archive. */
const SUFFIX = '.npy'

/** The compressed bytes that are decompressed for a header. */
const START = 2 ** 14

/** The most bytes to which an array is decompressed. */
const USUAL_LIMIT = 2 ** 32

/**
 * Opens a `.npz` archive of NumPy, without and with compression. Its directory is read and checked. An array that is stored without compression,
 * aligned and little-endian is over the mapped file; all others are copied, and compared with their checksum, when they are asked for. Members that
 * are no arrays are left out.
 *
 * @param source the path of the file, its `file:` URL, or its bytes, which must not change meanwhile.
 * @param scope unmaps the file when it is closed. Default: the garbage collector unmaps the file.
 * @param options `limit` is the most bytes to which an array is decompressed. Default: 4 GiB.
 * @throws {WeightsFormatError} if the directory is not valid, or members overlap or are encrypted.
 * @throws {LoadError} if the file cannot be opened. @throws {ArgumentError | ScopeClosedError} if an argument is not valid.
 * @throws {UnsupportedError} on Windows, for a path.
 * @example
 * const file = readNpz('arrays.npz')
 * file.tensor('x').shape
 */
export function readNpz(
  source: string | URL | Uint8Array,
  scope?: ResourceScope,
  options?: { readonly limit?: number },
): WeightsFile<never> {
  const { limit = USUAL_LIMIT } = checkOptions(options, ['limit'])
  const most = checkSize(limit, 'limit')
  if (source instanceof Uint8Array) {
    if (isDetached(source.buffer))
      throw new ArgumentError('source must be attached, got an array whose buffer was transferred')
    const file = new FileBytes(source, FORMAT)
    return archive(undefined, readDirectory(file), new NpzSource(() => file, undefined, most))
  }
  const { path, contents, segment } = openMapped(source, FORMAT, scope, readDirectory)
  const file = (): FileBytes => {
    checkUsable(segment.block)
    return new FileBytes(segment, FORMAT, path)
  }
  return archive(path, contents, new NpzSource(file, segment, most))
}

function archive(path: string | undefined, members: readonly ZipMember[], source: NpzSource): WeightsFile<never> {
  for (const member of members)
    if (member.name.endsWith(SUFFIX)) source.add(member.name.slice(0, -SUFFIX.length), member)
  return new WeightsFile({ path, format: FORMAT, names: source.names, metadata: new Map<string, never>() }, source)
}

class NpzSource implements WeightsSource {
  readonly #file: () => FileBytes
  readonly #segment: Segment | undefined
  readonly #limit: number
  readonly #members = new Map<string, ZipMember>()

  constructor(file: () => FileBytes, segment: Segment | undefined, limit: number) {
    this.#file = file
    this.#segment = segment
    this.#limit = limit
  }

  add(name: string, member: ZipMember): void {
    this.#members.set(name, member)
  }

  get names(): readonly string[] {
    return [...this.#members.keys()]
  }

  entry(name: string): WeightsEntry {
    const member = this.#members.get(name)!
    return explained(this.#file(), member, (file) => {
      const { dtype, shape, bigEndian, dataOffset } = this.#header(file, member)
      const type = dtypeInfo(dtype).numpy!
      return {
        name,
        type: bigEndian ? `>${type.slice(1)}` : type,
        shape,
        dtype,
        byteOffset: member.dataOffset + (member.isDeflated ? 0 : dataOffset),
        byteSize: member.byteSize - dataOffset,
      }
    })
  }

  tensor(name: string, allocator: NativeAllocator | undefined): Tensor {
    const member = this.#members.get(name)!
    return explained(
      this.#file(),
      member,
      (file) => this.#inPlace(file, member, allocator) ?? this.#copy(file, member, allocator),
    )
  }

  #inPlace(file: FileBytes, member: ZipMember, allocator: NativeAllocator | undefined): Tensor | undefined {
    if (this.#segment === undefined || member.isDeflated || allocator !== undefined) return undefined
    const header = this.#header(file, member)
    checkEnd(header, member.byteSize)
    const { dataOffset } = header
    return tensorOver(header, this.#segment.asSlice(member.dataOffset + dataOffset, member.byteSize - dataOffset))
  }

  #copy(file: FileBytes, member: ZipMember, allocator: NativeAllocator | undefined): Tensor {
    const bytes = this.#contents(file, member)
    const header = decodeNpyHeader(bytes)
    return readElements(header, bytes.length, allocator, (target) => target.set(bytes.subarray(header.dataOffset)))
  }

  #header(file: FileBytes, member: ZipMember): NpyHeader {
    if (member.isDeflated) {
      const finishFlush = zlib().constants.Z_SYNC_FLUSH
      const start = inflate(file, member, Math.min(member.storedSize, START), { finishFlush })
      const hasHeader = start.length >= MAX_PREFIX_BYTES && start.length >= npyDataOffset(start)
      return decodeNpyHeader(hasHeader ? start : this.#contents(file, member))
    }
    const prefix = file.copy(member.dataOffset, Math.min(member.byteSize, MAX_PREFIX_BYTES))
    return decodeNpyHeader(file.copy(member.dataOffset, Math.min(member.byteSize, npyDataOffset(prefix))))
  }

  /** Returns the bytes of a member, compared with their checksum. */
  #contents(file: FileBytes, member: ZipMember): Buffer {
    const { dataOffset, storedSize, byteSize, crc, isDeflated } = member
    if (byteSize > this.#limit) {
      throw file.error(dataOffset, `a member has ${byteSize} bytes, more than the limit of ${this.#limit}`, {
        hint: 'Pass a higher limit: readNpz(path, scope, { limit }).',
      })
    }
    const bytes = isDeflated
      ? inflate(file, member, storedSize, { maxOutputLength: Math.max(byteSize, 1) })
      : file.copy(dataOffset, storedSize)
    if (bytes.length !== byteSize) throw file.error(dataOffset, `a member has ${bytes.length} bytes, not ${byteSize}`)
    if (zlib().crc32(bytes) !== crc) throw file.error(dataOffset, 'the checksum of a member is wrong')
    return bytes
  }
}

function inflate(file: FileBytes, { dataOffset }: ZipMember, storedSize: number, options: Zlib.ZlibOptions): Buffer {
  try {
    return zlib().inflateRawSync(file.copy(dataOffset, storedSize), options)
  } catch (cause) {
    const reason =
      cause instanceof RangeError ? 'a member has more bytes than the directory says' : 'a member is not valid deflate'
    throw file.error(dataOffset, reason, { cause })
  }
}

/** Adds the member and its place to errors of the array. */
function explained<Result>(
  file: FileBytes,
  { name, dataOffset }: ZipMember,
  read: (file: FileBytes) => Result,
): Result {
  try {
    return read(file)
  } catch (error) {
    if (!(error instanceof NpyFormatError)) throw error
    throw file.error(dataOffset, `the member ${JSON.stringify(name)} is not a readable array: ${error.sentence}`, {
      hint: error.hint,
      cause: error,
    })
  }
}

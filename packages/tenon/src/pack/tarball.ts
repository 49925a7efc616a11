import { gunzipSync, gzipSync } from 'node:zlib'
import { InputError } from '../cli/input-error.ts'

/** A file of an npm package. */
export interface PackedFile {
  /** Relative to the package, with `/`. */
  readonly path: string
  readonly bytes: Buffer
  /** Whether the system may run it as a program. False without it. */
  readonly executable?: boolean
}

const BLOCK_BYTES = 512
/** The folder of all files in the tarball of a package. */
const ROOT = 'package/'
/** The time of npm's tarballs, 1985-10-26: the same files make the same tarball, whenever they are packed. */
const TIME_SECONDS = 499162500
/** Larger packages are refused before they are unpacked. */
const MAX_UNPACKED_BYTES = 2 ** 31 - 1

/** The fields of a header in the ustar format: offset and length in bytes. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  time: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
  prefix: [345, 155],
} as const

type Field = keyof typeof FIELDS

/**
 * Writes the tarball of an npm package. The bytes depend on the files and their order alone.
 *
 * @throws {InputError} if a path is longer than the format allows
 */
export function writeTarball(files: readonly PackedFile[]): Buffer {
  const blocks = files.flatMap(({ path, bytes, executable = false }) => [
    headerOf(ROOT + path, bytes.length, executable),
    bytes,
    Buffer.alloc(padding(bytes.length)),
  ])
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 9 })
}

const padding = (byteSize: number): number => -byteSize & (BLOCK_BYTES - 1)

function headerOf(path: string, byteSize: number, executable: boolean): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  const put = (field: Field, text: string): void => void header.write(text, FIELDS[field][0], 'utf8')
  const [prefix, name] = splitPath(path)
  put('name', name)
  put('prefix', prefix)
  put('mode', executable ? '0000755\0' : '0000644\0')
  put('uid', '0000000\0')
  put('gid', '0000000\0')
  put('size', `${byteSize.toString(8).padStart(11, '0')}\0`)
  put('time', `${TIME_SECONDS.toString(8).padStart(11, '0')}\0`)
  put('type', '0')
  put('magic', 'ustar\x0000')
  put('checksum', `${checksumOf(header).toString(8).padStart(6, '0')}\0 `)
  return header
}

/** Splits a path whose name is too long at a folder. */
function splitPath(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= FIELDS.name[1]) return ['', path]
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
    if (Buffer.byteLength(prefix) <= FIELDS.prefix[1] && Buffer.byteLength(name) <= FIELDS.name[1])
      return [prefix, name]
  }
  throw new InputError(`the path ${path} is too long for a package`, 'Give the library a shorter name.')
}

/** The sum of all bytes, where those of the checksum itself count as spaces. */
function checksumOf(header: Buffer): number {
  const [start, length] = FIELDS.checksum
  return header.reduce((sum, byte, i) => sum + (i >= start && i < start + length ? 0x20 : byte), 0)
}

/**
 * Reads the tarball of an npm package: regular files below one folder.
 *
 * @param name of the tarball, for errors
 * @throws {InputError} if it is damaged, has a file twice, or has anything but regular files
 */
export function readTarball(name: string, bytes: Uint8Array): Required<PackedFile>[] {
  const tar = unpack(name, bytes)
  const files = new Map<string, Required<PackedFile>>()
  for (let at = 0; at + BLOCK_BYTES <= tar.length;) {
    const header = tar.subarray(at, at + BLOCK_BYTES)
    if (header.every((byte) => byte === 0)) return [...files.values()]
    if (numberIn(header, 'checksum') !== checksumOf(header)) throw damaged(name, `a wrong checksum at byte ${at}`)
    const whole = [textIn(header, 'prefix'), textIn(header, 'name')].filter((part) => part !== '').join('/')
    const size = numberIn(header, 'size')
    const start = at + BLOCK_BYTES
    if (!Number.isInteger(size) || start + size > tar.length) throw damaged(name, `no end of ${whole}`)
    if (textIn(header, 'type') !== '0' || !isInside(whole)) {
      throw new InputError(`${name} contains ${whole}, which is not a regular file of the package`)
    }
    const path = whole.slice(whole.indexOf('/') + 1)
    if (files.has(path)) throw new InputError(`${name} has a file twice, ${path}`, 'Write it again with tenon pack.')
    const executable = (numberIn(header, 'mode') & 0o111) !== 0
    files.set(path, { path, bytes: tar.subarray(start, start + size), executable })
    at = start + size + padding(size)
  }
  throw damaged(name, 'no end')
}

function unpack(name: string, bytes: Uint8Array): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES })
  } catch (cause) {
    throw damaged(name, (cause as Error).message)
  }
}

const damaged = (name: string, reason: string): InputError =>
  new InputError(`${name} is not the tarball of a package: it has ${reason}`, 'Write it again with tenon pack.')

const isInside = (path: string): boolean => {
  const [, ...parts] = path.split('/')
  return parts.length > 0 && parts.every((part) => part !== '' && part !== '.' && part !== '..')
}

function textIn(header: Buffer, field: Field): string {
  const [start, length] = FIELDS[field]
  const bytes = header.subarray(start, start + length)
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? length : end)
}

const numberIn = (header: Buffer, field: Field): number => {
  const text = textIn(header, field).trim()
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN
}

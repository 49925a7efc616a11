import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { openPrivateDirectory, publishDirectory, removeQuietly, userCachePath } from '@tenon/binary/private-directory'
import { LoadError } from '../errors/kinds.ts'

/** A file that a bundle contains. */
interface BundledFile {
  /** The digest of the file, in hexadecimal. */
  readonly sha256: string
  /** In bytes. */
  readonly size: number
  /** The contents, compressed by DEFLATE without a header, in base64. */
  readonly text: string
}

/** Files that a bundle contains, which must be in one directory before the first of them is loaded. The plugins of `tenon/bundler` write them. */
export interface BundledFiles {
  /** The system and the processor for which they were built, by the names of Node.js, such as `linux-x64`. */
  readonly platform: string
  /** By their names. */
  readonly files: Readonly<Record<string, BundledFile>>
}

/** The files of the core. */
interface BundledCore extends BundledFiles {
  /** The version of the package. */
  readonly version: string
}

/** The plugins of `tenon/bundler` write the files of the core in the place of this text. */
const place: unknown = 'tenon:files-of-the-core'

/** The files of the core that the bundle with this module contains; undefined outside of such bundles. */
export const bundledCore: BundledCore | undefined = typeof place === 'string' ? undefined : (place as BundledCore)

const HINT =
  'Set TENON_CACHE_DIR to a directory that only this user can write to, and from which libraries can be loaded.'

/** After this time in milliseconds, what a process was writing is removed, because the process was killed. */
const ABANDONED = 3_600_000

const UNFINISHED = 'unfinished-'

const isPosix = process.platform !== 'win32'

/**
 * Returns a directory in the cache of the user that has these files and no others. All of them are compared with their digests, and
 * written again if one is damaged.
 *
 * @throws {LoadError} if the files are for another platform, or the cache cannot be used
 */
export function extractFiles(bundled: BundledFiles): string {
  checkPlatform(bundled)
  const cache = userCachePath(process.env, notAbsolute)
  const root = openPrivateDirectory(join(cache, 'files'), refuse)
  const directory = join(root, keyOf(bundled))
  if (hasFiles(directory, bundled)) return directory
  removeAbandoned(root)
  const temporary = join(root, newName())
  try {
    writeFiles(temporary, bundled)
    const isComplete = (path: string): boolean => hasFiles(path, bundled)
    if (!publishDirectory(temporary, directory, isComplete, () => join(root, newName()))) removeQuietly(temporary)
  } catch (error) {
    removeQuietly(temporary)
    throw refuse(root, `cannot be written: ${(error as Error).message}`, error)
  }
  if (hasFiles(directory, bundled)) return directory
  throw refuse(root, 'does not keep what is written to it')
}

const extracted = new WeakMap<BundledFiles, string>()

/**
 * Returns the path of the first file, which has been compared with its digest by this thread.
 *
 * @throws {LoadError} as {@link extractFiles}
 */
export function bundledPath(bundled: BundledFiles): string {
  let path = extracted.get(bundled)
  if (path === undefined) {
    path = join(extractFiles(bundled), Object.keys(bundled.files)[0]!)
    extracted.set(bundled, path)
  }
  return path
}

function checkPlatform({ platform, files }: BundledFiles): void {
  const own = `${process.platform}-${process.arch}`
  if (platform === own) return
  throw new LoadError(`the bundle contains ${Object.keys(files)[0]} for ${platform}, this process runs on ${own}`, {
    hint: 'Make a bundle on each platform on which the program runs.',
    details: { expected: platform, received: own },
  })
}

function hasFiles(directory: string, { files }: BundledFiles): boolean {
  try {
    const names = Object.keys(files)
    if (!isPrivate(directory, 'directory') || readdirSync(directory).length !== names.length) return false
    return names.every((name) => isFile(join(directory, name), files[name]!))
  } catch {
    return false
  }
}

function isFile(path: string, { size, sha256 }: BundledFile): boolean {
  return isPrivate(path, 'file') && lstatSync(path).size === size && digestOf(readFileSync(path)) === sha256
}

/** Whether a path is what it should be, and no link, and nobody else can write to it. The owner can run the files. */
function isPrivate(path: string, kind: 'directory' | 'file'): boolean {
  const stats = lstatSync(path)
  if (!(kind === 'file' ? stats.isFile() : stats.isDirectory())) return false
  return !isPosix || (stats.uid === process.getuid?.() && (stats.mode & 0o7777) === 0o700)
}

function writeFiles(directory: string, { files }: BundledFiles): void {
  mkdirSync(directory, 0o700)
  if (isPosix) chmodSync(directory, 0o700)
  const { inflateRawSync } = process.getBuiltinModule('node:zlib')
  for (const [name, { size, sha256, text }] of Object.entries(files)) {
    const contents = inflateRawSync(Buffer.from(text, 'base64'), { maxOutputLength: Math.max(size, 1) })
    if (contents.length !== size || digestOf(contents) !== sha256)
      throw new Error(`the bundle is damaged, because ${name} in it has another digest`)
    const path = join(directory, basename(name))
    writeFileSync(path, contents, { flag: 'wx', mode: 0o700 })
    // The process may have a mask.
    if (isPosix) chmodSync(path, 0o700)
  }
}

/** Removes what processes that were killed have left. */
function removeAbandoned(root: string): void {
  for (const name of readdirSync(root)) {
    const path = join(root, name)
    if (!name.startsWith(UNFINISHED)) continue
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > ABANDONED) removeQuietly(path)
  }
}

const newName = (): string => `${UNFINISHED}${process.pid}-${process.getBuiltinModule('node:crypto').randomUUID()}`

function keyOf({ files }: BundledFiles): string {
  return digestOf(JSON.stringify(Object.entries(files).map(([name, { sha256 }]) => [name, sha256])))
}

/** Loaded here, because loading takes milliseconds, and few programs are such bundles. */
function digestOf(contents: Uint8Array | string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(contents).digest('hex')
}

function notAbsolute(chosen: string): LoadError {
  return new LoadError(`TENON_CACHE_DIR must be an absolute path, got ${chosen}`, {
    hint: HINT,
    details: { variable: 'TENON_CACHE_DIR', expected: 'an absolute path', received: chosen },
  })
}

function refuse(path: string, reason: string, cause?: unknown): LoadError {
  return new LoadError(`the cache of bundled libraries ${path} ${reason}`, {
    hint: HINT,
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  })
}

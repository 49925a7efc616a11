import { publishDirectory, removeQuietly } from '@tenon/binary/private-directory'
import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'

import { cachePath, openCacheDirectory, unusable } from './cache-directory.ts'
import type { Diagnostic } from './diagnostics.ts'

/** A library in the cache. */
export interface CacheEntry {
  /** The absolute path. */
  readonly path: string
  /** The warnings of the compiler. */
  readonly warnings: readonly Diagnostic[]
}

/** What was removed from a cache. */
export interface Cleared {
  readonly libraries: number
  /** The size of their files, in bytes. */
  readonly byteSize: number
}

/** The contents of `entry.json` beside a library. */
interface EntryRecord {
  readonly size: number
  readonly sha256: string
  readonly warnings: readonly Diagnostic[]
}

const DAY = 86_400_000

/** How long an entry that is not used is kept. In milliseconds. */
const KEPT = 30 * DAY

/** After this time, what a process was making is removed, because the process was killed. In milliseconds. */
const ABANDONED = 3_600_000

const recordFile = 'entry.json'
const unfinished = 'unfinished'
const compilers = 'compilers'

/** The files that this process has compared with their digests: the identity of each by its path. */
const verified = new Map<string, { readonly identity: string; readonly warnings: readonly Diagnostic[] }>()

/**
 * The cache of compiled sources. An entry is a directory whose name is the key. It is renamed into place when it is complete, so processes need
 * no lock, and none of them sees a part of an entry.
 */
export class Cache {
  readonly directory: string

  /** @param option the directory that the caller has chosen @throws {CompileError} if the directory cannot be used */
  constructor(option: string | undefined) {
    this.directory = openCacheDirectory(cachePath(option))
  }

  /** Returns a complete entry whose library is as it was linked. An entry that is damaged is not returned. */
  find(key: string, file: string): CacheEntry | undefined {
    const entry = readEntry(join(this.directory, key), file)
    if (entry !== undefined) this.#markUsed(key)
    return entry
  }

  /**
   * Makes a directory for what is not complete.
   *
   * @throws {CompileError} if the cache is read-only or full
   */
  makeDirectory(): string {
    const path = this.#unfinishedPath()
    try {
      fs.mkdirSync(path, { recursive: true, mode: 0o700 })
      return path
    } catch (error) {
      throw unusable(this.directory, `cannot be written: ${(error as Error).message}`, error)
    }
  }

  /**
   * Makes an entry of a directory with a library.
   *
   * @returns the entry, or the one that another process has made meanwhile
   * @throws {CompileError} if the cache is full
   */
  publish(key: string, directory: string, file: string, warnings: readonly Diagnostic[]): CacheEntry {
    const content = fs.readFileSync(join(directory, file))
    const record: EntryRecord = { size: content.length, sha256: digestOf(content), warnings }
    const target = join(this.directory, key)
    try {
      fs.writeFileSync(join(directory, recordFile), JSON.stringify(record))
      const isComplete = (path: string): boolean => readEntry(path, file) !== undefined
      const isOwn = publishDirectory(directory, target, isComplete, () => this.#unfinishedPath())
      return (isOwn ? undefined : readEntry(target, file)) ?? { path: join(target, file), warnings }
    } catch (error) {
      throw unusable(this.directory, `cannot be written: ${(error as Error).message}`, error)
    }
  }

  /** Returns what was stored of a compiler. */
  readCompiler(id: string): string | undefined {
    try {
      return fs.readFileSync(join(this.directory, compilers, id), 'utf8')
    } catch {
      return undefined
    }
  }

  /** Stores what a compiler says of itself. A cache that is read-only stays as it is. */
  writeCompiler(id: string, text: string): void {
    try {
      fs.mkdirSync(join(this.directory, compilers), { recursive: true, mode: 0o700 })
      const temporary = this.#unfinishedPath()
      fs.mkdirSync(join(this.directory, unfinished), { recursive: true, mode: 0o700 })
      fs.writeFileSync(temporary, text)
      fs.renameSync(temporary, join(this.directory, compilers, id))
    } catch {
      // The compiler is asked again.
    }
  }

  /** Removes entries that were not used for 30 days, and what processes that were killed have left. */
  prune(): void {
    this.#removeOlder(KEPT)
  }

  /** Removes all entries. @returns how many libraries were removed, and their bytes */
  clear(): Cleared {
    return this.#removeOlder(-Infinity)
  }

  #removeOlder(kept: number): Cleared {
    const now = Date.now()
    const isOlder = (limit: number) => (path: string) =>
      now - (fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now) >= limit
    // The command keeps compiled JavaScript in the same directory.
    const entries = pathsIn(this.directory, isKey).filter(isOlder(kept))
    const byteSize = entries.flatMap((path) => pathsIn(path)).reduce((sum, path) => sum + sizeOf(path), 0)
    const others = [
      ...pathsIn(join(this.directory, compilers)).filter(isOlder(kept)),
      ...pathsIn(join(this.directory, unfinished)).filter(isOlder(ABANDONED)),
    ]
    for (const path of [...entries, ...others]) removeQuietly(path)
    return { libraries: entries.length, byteSize }
  }

  #markUsed(key: string): void {
    const path = join(this.directory, key)
    try {
      const now = Date.now()
      if (now - fs.statSync(path).mtimeMs > DAY) fs.utimesSync(path, now / 1000, now / 1000)
    } catch {
      // The cache is read-only, or another process has cleared it.
    }
  }

  #unfinishedPath(): string {
    return join(this.directory, unfinished, `${process.pid}-${randomUUID()}`)
  }
}

function readEntry(directory: string, file: string): CacheEntry | undefined {
  const path = join(directory, file)
  try {
    const stats = fs.lstatSync(path)
    const identity = `${stats.ino} ${stats.size} ${stats.mtimeMs}`
    const known = verified.get(path)
    if (known?.identity === identity) return { path, warnings: known.warnings }
    if (!stats.isFile()) return undefined
    const { size, sha256, warnings } = JSON.parse(fs.readFileSync(join(directory, recordFile), 'utf8')) as EntryRecord
    if (stats.size !== size || digestOf(fs.readFileSync(path)) !== sha256) return undefined
    verified.set(path, { identity, warnings })
    return { path, warnings }
  } catch {
    return undefined
  }
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

const isKey = (name: string): boolean => /^[0-9a-f]{32}$/.test(name)

function pathsIn(directory: string, isIncluded: (name: string) => boolean = () => true): string[] {
  try {
    return fs
      .readdirSync(directory)
      .filter(isIncluded)
      .map((name) => join(directory, name))
  } catch {
    return []
  }
}

function sizeOf(path: string): number {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Removes everything that {@link compile} has stored. Libraries that are loaded stay in use.
 *
 * @param cacheDirectory by default that of `compile`
 * @returns how many libraries were removed, and their size in bytes
 * @throws {CompileError} if the directory does not belong to this user
 * @example
 * const { libraries, byteSize } = clearCache()
 */
export function clearCache(cacheDirectory?: string): Cleared {
  if (!fs.existsSync(cachePath(cacheDirectory))) return { libraries: 0, byteSize: 0 }
  return new Cache(cacheDirectory).clear()
}

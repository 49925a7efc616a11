import { BinaryFormatError } from '../binary-format-error.ts'
import type { Fields } from '../binary-reader.ts'
import { Tag, type ElfDynamic } from './elf-dynamic.ts'
import { fileRangeOf, type ElfHeader } from './elf-header.ts'

export interface NeededVersion {
  readonly library: string
  /** The version, such as `GLIBC_2.34`. */
  readonly version: string
}

/** Version numbers in a symbol table have 15 bits. */
const MAX_VERSIONS = 0x8000

/** Entries that are linked by relative offsets, with at most {@link MAX_VERSIONS} in one file. */
class VersionEntries {
  readonly #header: ElfHeader
  readonly #what: string
  #room = MAX_VERSIONS

  constructor(header: ElfHeader, what: string) {
    this.#header = header
    this.#what = what
  }

  *from(start: number, count: number, size: number): Generator<readonly [offset: number, fields: Fields]> {
    for (let left = count, offset = start; left > 0; left -= 1) {
      if (--this.#room < 0) throw new BinaryFormatError(`the ${this.#what} has more than ${MAX_VERSIONS} entries`)
      const fields = this.#header.reader.fields(offset, size, this.#what)
      yield [offset, fields]
      // The offset of the next entry is the last member of each.
      const next = fields.u32(size - 4)
      if (next === 0) return
      offset += next
    }
  }
}

/**
 * The required symbol versions (.gnu.version_r), by the number that symbols refer to.
 *
 * Layout: Verneed { version u16 0, cnt u16 2, file u32 4, aux u32 8, next u32 12 } and
 * Vernaux { hash u32 0, flags u16 4, other u16 6, name u32 8, next u32 12 }, linked by relative offsets.
 */
export function readNeededVersions(header: ElfHeader, dynamic: ElfDynamic): Map<number, NeededVersion> {
  const versions = new Map<number, NeededVersion>()
  const address = dynamic.value(Tag.verneed)
  if (address === undefined) return versions
  const what = 'table of needed versions'
  const entries = new VersionEntries(header, what)
  const start = fileRangeOf(header, address, what).offset
  for (const [offset, need] of entries.from(start, dynamic.value(Tag.verneednum) ?? 0, 16)) {
    const library = dynamic.strings.at(need.u32(4))
    for (const [, name] of entries.from(offset + need.u32(8), need.u16(2), 16)) {
      versions.set(name.u16(6), { library, version: dynamic.strings.at(name.u32(8)) })
    }
  }
  return versions
}

/**
 * The symbol versions that the file defines (.gnu.version_d), by the number that symbols refer to.
 *
 * Layout: Verdef { version u16 0, flags u16 2, ndx u16 4, cnt u16 6, hash u32 8, aux u32 12, next u32 16 } and
 * Verdaux { name u32 0, next u32 4 }, of which the first has the name of the version, and others those that it follows.
 */
export function readDefinedVersions(header: ElfHeader, dynamic: ElfDynamic): Map<number, string> {
  const versions = new Map<number, string>()
  const address = dynamic.value(Tag.verdef)
  if (address === undefined) return versions
  const what = 'table of defined versions'
  const entries = new VersionEntries(header, what)
  const start = fileRangeOf(header, address, what).offset
  for (const [offset, definition] of entries.from(start, dynamic.value(Tag.verdefnum) ?? 0, 20)) {
    const name = header.reader.fields(offset + definition.u32(12), 8, what)
    versions.set(definition.u16(4), dynamic.strings.at(name.u32(0)))
  }
  return versions
}

/** The libraries of glibc. libgcc has versions with the same names, even on systems without glibc. */
const glibcLibrary = /^(ld[\w-]*|lib(anl|BrokenLocale|c|dl|m|mvec|nsl|nss_\w+|pthread|resolv|rt|thread_db|util))\.so\./

export function minimumGlibc(versions: Iterable<NeededVersion>): string | undefined {
  let best: readonly number[] | undefined
  for (const { library, version } of versions) {
    if (!glibcLibrary.test(library)) continue
    // glibc 2.36 introduced packed relative relocations, and marks them with a version of their own.
    const text = version === 'GLIBC_ABI_DT_RELR' ? '2.36' : /^GLIBC_(\d+(?:\.\d+)+)$/.exec(version)?.[1]
    const parts = text?.split('.').map(Number)
    if (parts !== undefined && (best === undefined || isNewer(parts, best))) best = parts
  }
  return best?.join('.')
}

function isNewer(parts: readonly number[], other: readonly number[]): boolean {
  const index = parts.findIndex((part, position) => part !== (other[position] ?? 0))
  return index !== -1 && parts[index]! > (other[index] ?? 0)
}

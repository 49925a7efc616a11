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
  let room = MAX_VERSIONS
  function* entries(start: number, count: number): Generator<readonly [offset: number, fields: Fields]> {
    for (let left = count, offset = start; left > 0; left -= 1) {
      if (--room < 0) throw new BinaryFormatError(`more than ${MAX_VERSIONS} symbol versions are required`)
      const fields = header.reader.fields(offset, 16, what)
      yield [offset, fields]
      const next = fields.u32(12)
      if (next === 0) return
      offset += next
    }
  }
  const start = fileRangeOf(header, address, what).offset
  for (const [offset, need] of entries(start, dynamic.value(Tag.verneednum) ?? 0)) {
    const library = dynamic.strings.at(need.u32(4))
    for (const [, name] of entries(offset + need.u32(8), need.u16(2))) {
      versions.set(name.u16(6), { library, version: dynamic.strings.at(name.u32(8)) })
    }
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

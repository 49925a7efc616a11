import type { ExportedSymbol, ImportedSymbol } from '../binary-info.ts'
import { StringTable, type BinaryReader, type Fields } from '../binary-reader.ts'

const N_STAB = 0xe0
const N_PEXT = 0x10
const N_TYPE = 0x0e
const N_EXT = 0x01
const N_UNDF = 0x0
const N_WEAK_REF = 0x40
const N_WEAK_DEF = 0x80

/** The largest ordinal of a library. A larger one selects all libraries, the program, or the library itself. */
const MAX_LIBRARY_ORDINAL = 0xfd

/**
 * The external symbols, without the leading underscore of C names in Mach-O.
 *
 * Layout: LC_SYMTAB has the offset u32 8 and count u32 12 of the symbols, and the offset u32 16 and size u32 20 of their
 * names. nlist { strx u32 0, type u8 4, sect u8 5, desc u16 6, value u32 or u64 8 }; the library's number is in the
 * upper byte of `desc`.
 */
export function readMachOSymbols(
  reader: BinaryReader,
  bits: 32 | 64,
  command: Fields | undefined,
  codeSections: readonly boolean[],
  libraries: readonly string[],
): { exports: ExportedSymbol[]; imports: ImportedSymbol[]; stripped: boolean } {
  const exports: ExportedSymbol[] = []
  const imports: ImportedSymbol[] = []
  let stripped = true
  if (command === undefined) return { exports, imports, stripped }
  const size = bits === 64 ? 16 : 12
  const symbols = reader.fields(command.u32(8), command.u32(12) * size, 'symbol table')
  const names = new StringTable(reader.fields(command.u32(16), command.u32(20), 'string table'))
  for (let at = 0; at < symbols.byteSize; at += size) {
    const type = symbols.u8(at + 4)
    if ((type & N_STAB) !== 0) stripped = false
    if ((type & N_STAB) !== 0 || (type & N_EXT) === 0 || (type & N_PEXT) !== 0) continue
    const name = names.at(symbols.u32(at)).replace(/^_/, '')
    const description = symbols.u16(at + 6)
    if ((type & N_TYPE) === N_UNDF) {
      const ordinal = description >> 8
      const library = ordinal <= MAX_LIBRARY_ORDINAL ? libraries[ordinal - 1] : undefined
      imports.push({ name, weak: (description & N_WEAK_REF) !== 0, ...(library === undefined ? {} : { library }) })
      continue
    }
    const code = codeSections[symbols.u8(at + 5) - 1]
    exports.push({
      name,
      kind: code === undefined ? 'other' : code ? 'function' : 'object',
      address: bits === 64 ? symbols.u64(at + 8) : BigInt(symbols.u32(at + 8)),
      weak: (description & N_WEAK_DEF) !== 0,
    })
  }
  return { exports, imports, stripped }
}

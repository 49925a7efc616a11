import type { ImportedSymbol } from '../binary-info.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import type { PeDirectory, PeImage } from './pe-image.ts'

/** The size of an import descriptor, and the offsets of the DLL's name and of the list of symbols in it. */
const importLayout = { size: 20, name: 12, symbols: 0, boundSymbols: 16 } as const
const delayLayout = { size: 32, name: 4, symbols: 16, boundSymbols: 16 } as const
type Layout = typeof importLayout | typeof delayLayout

/**
 * The imported DLLs and the symbols imported from each, at load time or at first use. A symbol that is imported by its
 * number is called `#12`.
 */
export function readPeImports(
  image: PeImage,
  bits: 32 | 64,
  directory: PeDirectory,
  delayDirectory: PeDirectory,
): { needed: string[]; imports: ImportedSymbol[] } {
  const imports: ImportedSymbol[] = []
  const needed = readTable(image, bits, directory.rva, importLayout, imports)
  readTable(image, bits, delayDirectory.rva, delayLayout, imports)
  return { needed, imports }
}

function readTable(image: PeImage, bits: 32 | 64, rva: number, layout: Layout, imports: ImportedSymbol[]): string[] {
  const libraries: string[] = []
  if (rva === 0) return libraries
  for (let at = rva; ; at += layout.size) {
    const descriptor = image.fields(at, layout.size, 'import directory')
    const nameRva = descriptor.u32(layout.name)
    if (nameRva === 0) return libraries
    const library = image.text(nameRva, 'name of a needed DLL')
    libraries.push(library)
    // Old linkers leave the first list out. The second one has the same entries until the loader writes addresses to it.
    const symbolsRva = descriptor.u32(layout.symbols) || descriptor.u32(layout.boundSymbols)
    if (symbolsRva !== 0) readSymbols(image, bits, symbolsRva, library, imports)
  }
}

/** Reads a list of words that ends with 0. A word is the RVA of { hint u16, name }, or a number if its top bit is set. */
function readSymbols(image: PeImage, bits: 32 | 64, rva: number, library: string, imports: ImportedSymbol[]): void {
  const word = bits / 8
  for (let at = rva; ; at += word) {
    const entry = image.fields(at, word, 'import table')
    const low = entry.u32(0)
    const high = bits === 64 ? entry.u32(4) : low
    if (low === 0 && high === 0) return
    // Every entry has a word of its own, unless the lists of a hostile file overlap.
    if (imports.length * word > image.fileSize) throw new BinaryFormatError('the import tables overlap')
    const name = (high & 0x80000000) !== 0 ? `#${low & 0xffff}` : image.text(low + 2, 'name of an import')
    imports.push({ name, weak: false, library })
  }
}

import type { ImportedSymbol } from '../binary-info.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import type { PeDirectory } from './pe-exports.ts'
import type { PeImage } from './pe-image.ts'

/** An import table: { size of a descriptor, where it has the DLL's name and the list of symbols }. */
const importLayout = { size: 20, name: 12, symbols: 0, boundSymbols: 16 } as const
const delayLayout = { size: 32, name: 4, symbols: 16, boundSymbols: 16 } as const
type Layout = typeof importLayout | typeof delayLayout

/**
 * The DLLs that loading asks for, and the symbols asked of each, then or at first use; a symbol asked for by its number
 * is called `#12`.
 */
export function readPeImports(
  image: PeImage,
  bits: 32 | 64,
  directory: PeDirectory,
  delayDirectory: PeDirectory,
): { needed: string[]; imports: ImportedSymbol[] } {
  const imports: ImportedSymbol[] = []
  const needed = directory.rva === 0 ? [] : readTable(image, bits, directory.rva, importLayout, imports)
  if (delayDirectory.rva !== 0) readTable(image, bits, delayDirectory.rva, delayLayout, imports)
  return { needed, imports }
}

function readTable(image: PeImage, bits: 32 | 64, rva: number, layout: Layout, imports: ImportedSymbol[]): string[] {
  const libraries: string[] = []
  for (let at = rva; ; at += layout.size) {
    const descriptor = image.fields(at, layout.size, 'import directory')
    const nameRva = descriptor.u32(layout.name)
    if (nameRva === 0) return libraries
    const library = image.text(nameRva, 'name of a needed DLL')
    libraries.push(library)
    // Old linkers leave the first list out; the second one holds the same until the loader fills in addresses.
    const symbolsRva = descriptor.u32(layout.symbols) || descriptor.u32(layout.boundSymbols)
    if (symbolsRva !== 0) readSymbols(image, bits, symbolsRva, library, imports)
  }
}

/** A list of words ended by 0: the RVA of { hint u16, name }, or a number where the top bit is set. */
function readSymbols(image: PeImage, bits: 32 | 64, rva: number, library: string, imports: ImportedSymbol[]): void {
  const word = bits / 8
  for (let at = rva; ; at += word) {
    const entry = image.fields(at, word, 'import table')
    const low = entry.u32(0)
    const high = bits === 64 ? entry.u32(4) : low
    if (low === 0 && high === 0) return
    // Every entry takes a word of its own, unless a hostile file lets many lists share theirs.
    if (imports.length * word > image.fileSize) throw new BinaryFormatError('the import tables lie over each other')
    const name = (high & 0x80000000) !== 0 ? `#${low & 0xffff}` : image.text(low + 2, 'name of an import')
    imports.push({ name, weak: false, library })
  }
}

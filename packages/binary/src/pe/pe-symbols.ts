import type { ExportedSymbol, ImportedSymbol } from '../binary-info.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import type { PeDirectory, PeImage } from './pe-image.ts'

/**
 * The functions and variables exported by name, and the DLL's own name.
 *
 * Layout: the export directory has name u32 12, base u32 16, function count u32 20, name count u32 24, and the RVAs of
 * the addresses u32 28, of the names u32 32 and of the names' indices (u16 each) u32 36. An address inside the
 * directory itself is a text that forwards to another DLL.
 */
export function readPeExports(
  image: PeImage,
  directory: PeDirectory,
): { name: string | undefined; exports: ExportedSymbol[] } {
  if (directory.rva === 0) return { name: undefined, exports: [] }
  const head = image.fields(directory.rva, 40, 'export directory')
  const name = image.text(head.u32(12), 'name of the DLL')
  const nameCount = head.u32(24)
  if (nameCount === 0) return { name, exports: [] }
  const functionCount = head.u32(20)
  const addresses = image.fields(head.u32(28), functionCount * 4, 'export address table')
  const names = image.fields(head.u32(32), nameCount * 4, 'export name table')
  const indices = image.fields(head.u32(36), nameCount * 2, 'export ordinal table')
  const exports = Array.from({ length: nameCount }, (_, position): ExportedSymbol => {
    const index = indices.u16(position * 2)
    if (index >= functionCount) {
      throw new BinaryFormatError(`an export refers to function ${index} of a table of ${functionCount}`)
    }
    const rva = addresses.u32(index * 4)
    const forwarded = rva >= directory.rva && rva < directory.rva + directory.byteSize
    return {
      name: image.text(names.u32(position * 4), 'name of an export'),
      kind: forwarded || image.isCode(rva) ? 'function' : 'object',
      address: BigInt(rva),
      weak: false,
    }
  })
  return { name, exports }
}

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
  directory: PeDirectory,
  delayDirectory: PeDirectory,
): { needed: string[]; imports: ImportedSymbol[] } {
  const imports: ImportedSymbol[] = []
  const needed = readTable(image, directory.rva, importLayout, imports)
  readTable(image, delayDirectory.rva, delayLayout, imports)
  return { needed, imports }
}

function readTable(image: PeImage, rva: number, layout: Layout, imports: ImportedSymbol[]): string[] {
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
    if (symbolsRva !== 0) readSymbols(image, symbolsRva, library, imports)
  }
}

/** Reads a list of words that ends with 0. A word is the RVA of { hint u16, name }, or a number if its top bit is set. */
function readSymbols(image: PeImage, rva: number, library: string, imports: ImportedSymbol[]): void {
  const word = image.bits / 8
  for (let at = rva; ; at += word) {
    const entry = image.fields(at, word, 'import table')
    const low = entry.u32(0)
    const high = image.bits === 64 ? entry.u32(4) : low
    if (low === 0 && high === 0) return
    // Every entry has a word of its own, unless the lists of a hostile file overlap.
    if (imports.length * word > image.fileSize) throw new BinaryFormatError('the import tables overlap')
    const name = (high & 0x80000000) !== 0 ? `#${low & 0xffff}` : image.text(low + 2, 'name of an import')
    imports.push({ name, weak: false, library })
  }
}

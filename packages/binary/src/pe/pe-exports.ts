import type { ExportedSymbol } from '../binary-info.ts'
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

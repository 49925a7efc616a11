import type { ElfHeader } from './elf-header.ts'

const PT_NOTE = 4
const SHT_NOTE = 7
const NT_GNU_BUILD_ID = 3

/** The most bytes of notes that are read. Those of compilers have some hundred. */
const MOST_BYTES = 65_536

/**
 * The build ID that the linker gave to the file, in hexadecimal digits. Undefined if there is none, or the notes are damaged. The segments
 * of a file with nothing but debug information may lack their contents, so the sections are read as well.
 */
export function readBuildId({ reader, segments, sections }: ElfHeader): string | undefined {
  const parts = [
    ...segments.filter(({ type }) => type === PT_NOTE),
    ...sections.filter(({ type }) => type === SHT_NOTE).map(({ offset, byteSize }) => ({ offset, fileSize: byteSize })),
  ]
  for (const { offset, fileSize } of parts) {
    if (fileSize > MOST_BYTES || offset + fileSize > reader.byteSize) continue
    const notes = reader.fields(offset, fileSize, 'notes')
    for (let at = 0; at + 12 <= fileSize;) {
      const [nameSize, byteSize] = [notes.u32(at), notes.u32(at + 4)]
      const start = at + 12 + align(nameSize)
      const end = start + byteSize
      if (end > fileSize) break
      if (notes.u32(at + 8) === NT_GNU_BUILD_ID && notes.bytes.toString('latin1', at + 12, at + 16) === 'GNU\0') {
        return notes.bytes.toString('hex', start, end)
      }
      at = start + align(byteSize)
    }
  }
  return undefined
}

/** Names and descriptors end at multiples of 4 bytes. */
const align = (byteSize: number): number => Math.ceil(byteSize / 4) * 4

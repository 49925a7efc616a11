import { BinaryReader } from './binary-reader.ts'
import type { ByteSource } from './byte-source.ts'
import { readElfHeader } from './elf/elf-header.ts'
import { readElfLocalFunctions } from './elf/elf-symbols.ts'
import { formatOf, parseFile } from './read-binary.ts'

/**
 * Reads the names of the functions that an ELF library contains but does not export, because they are static or were built
 * with hidden visibility. Other files cannot look them up.
 *
 * @param path of the file
 * @returns the names in alphabetical order; an empty array for a stripped library and for other formats
 * @throws {BinaryFormatError} if it is another kind of file, or its tables are truncated or inconsistent
 * @throws the system's error (ENOENT, EACCES, ...) if it cannot be opened
 * @example
 * readHiddenFunctions(path).includes('Norm')
 */
export function readHiddenFunctions(path: string): string[] {
  return parseFile(path, parseHiddenFunctions)
}

export function parseHiddenFunctions(source: ByteSource): string[] {
  const reader = new BinaryReader(source, false)
  if (formatOf(reader) !== 'elf') return []
  return [...new Set(readElfLocalFunctions(readElfHeader(reader)))].filter((name) => name !== '').toSorted()
}

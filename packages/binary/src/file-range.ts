import { BinaryFormatError } from './binary-format-error.ts'

/** A part of a file. */
export interface FileRange {
  readonly offset: number
  readonly byteSize: number
}

/** A part of a file, and the address at which the loader maps the part. */
export type MappedPart = Readonly<Record<'address' | 'offset' | 'fileSize', number>>

/** The file offset of an address of the loaded image, and the number of bytes from there to the end of its part in the file. */
export function rangeIn(parts: readonly MappedPart[], address: number, what: string): FileRange {
  for (const part of parts) {
    const within = address - part.address
    if (within >= 0 && within < part.fileSize) return { offset: part.offset + within, byteSize: part.fileSize - within }
  }
  throw new BinaryFormatError(
    `the ${what} is at address 0x${address.toString(16)}, which is outside of the file's segments`,
  )
}
